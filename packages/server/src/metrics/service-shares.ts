import type { Caller } from '@fairlead/core'

/** The span that service is compared over. */
const WINDOW_MS = 60_000
const CALLERS_MAX = 10_000

/**
 * Jain's index of the units that callers were given in the last minute or two: 1 if all got the same, 1/n
 * if one of n got everything. Two half windows take turns, so that nothing has to be kept for each job.
 */
export class ServiceShares {
  #current = new Map<Caller, number>()
  #last = new Map<Caller, number>()
  #since = 0

  add(caller: Caller, units: number, nowMs: number): void {
    this.#turn(nowMs)
    const before = this.#current.get(caller)
    if (before === undefined && this.#current.size >= CALLERS_MAX) return
    this.#current.set(caller, (before ?? 0) + units)
  }

  /** Null while nobody was served. */
  index(nowMs: number): number | null {
    this.#turn(nowMs)
    const shares = new Map(this.#last)
    for (const [caller, units] of this.#current)
      shares.set(caller, (shares.get(caller) ?? 0) + units)
    let sum = 0
    let squares = 0
    for (const units of shares.values()) {
      sum += units
      squares += units * units
    }
    return squares === 0 ? null : (sum * sum) / (shares.size * squares)
  }

  #turn(nowMs: number): void {
    if (nowMs - this.#since < WINDOW_MS) return
    this.#last = nowMs - this.#since < 2 * WINDOW_MS ? this.#current : new Map()
    this.#current = new Map()
    this.#since = nowMs
  }
}
