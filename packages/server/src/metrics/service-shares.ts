import type { Caller, KindName } from '@fairlead/core'
import type { Served } from '@fairlead/engine'

/** The span that service is compared over. */
export const SHARES_WINDOW_MS = 60_000
const CALLERS_MAX = 10_000

interface Units {
  units: number
  readonly tier: string
}
type ByKind = Map<KindName, Map<Caller, Units>>

/**
 * The units that callers were given in the last minute or two, by kind. Two half windows take turns, so that nothing
 * has to be kept for each job.
 */
export class ServiceShares {
  #current: ByKind = new Map()
  #last: ByKind = new Map()
  #since = 0

  add(
    kind: KindName,
    by: { readonly caller: Caller; readonly tier: string },
    units: number,
    nowMs: number,
  ): void {
    this.#turn(nowMs)
    let callers = this.#current.get(kind)
    if (callers === undefined) {
      callers = new Map()
      this.#current.set(kind, callers)
    }
    const known = callers.get(by.caller)
    if (known !== undefined) known.units += units
    else if (callers.size < CALLERS_MAX) callers.set(by.caller, { units, tier: by.tier })
  }

  /** What each caller was given of one kind. */
  of(kind: KindName, nowMs: number): ReadonlyMap<Caller, Served> {
    this.#turn(nowMs)
    const sums = new Map<Caller, Units>()
    for (const callers of [this.#last.get(kind), this.#current.get(kind)]) {
      for (const [caller, { units, tier }] of callers ?? []) {
        const known = sums.get(caller)
        if (known === undefined) sums.set(caller, { units, tier })
        else known.units += units
      }
    }
    return sums
  }

  /** Jain's index over all kinds: 1 if all got the same, 1/n if one of n got everything; null while nobody was served. */
  index(nowMs: number): number | null {
    this.#turn(nowMs)
    const shares = new Map<Caller, number>()
    for (const kinds of [this.#last, this.#current]) {
      for (const callers of kinds.values()) {
        for (const [caller, { units }] of callers) {
          shares.set(caller, (shares.get(caller) ?? 0) + units)
        }
      }
    }
    let sum = 0
    let squares = 0
    for (const units of shares.values()) {
      sum += units
      squares += units * units
    }
    return squares === 0 ? null : (sum * sum) / (shares.size * squares)
  }

  #turn(nowMs: number): void {
    if (nowMs - this.#since < SHARES_WINDOW_MS) return
    this.#last = nowMs - this.#since < 2 * SHARES_WINDOW_MS ? this.#current : new Map()
    this.#current = new Map()
    this.#since = nowMs
  }
}
