import type { Clock } from '@fairlead/core'

interface Wake {
  readonly at: number
  readonly wake: () => void
}

/** Turns of the event loop until everything in memory has come to rest: the longest way of a job takes about ten. */
const TURNS = 25

/** A clock that stands still until it is moved. */
export class ManualClock implements Clock {
  #nowMs: number
  readonly #wakes = new Set<Wake>()

  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }

  now(): number {
    return this.#nowMs
  }

  wakeAt(atMs: number, wake: () => void): () => void {
    if (atMs <= this.#nowMs) {
      const soon = setImmediate(wake)
      return () => clearImmediate(soon)
    }
    const entry = { at: atMs, wake }
    this.#wakes.add(entry)
    return () => this.#wakes.delete(entry)
  }

  /** Moves the time on, wake by wake; what is woken comes to rest before the next. */
  async moveTo(untilMs: number): Promise<void> {
    for (;;) {
      await this.settle()
      const next = this.#next()
      if (next === null || next.at > untilMs) break
      this.#wakes.delete(next)
      this.#nowMs = Math.max(this.#nowMs, next.at)
      next.wake()
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs)
    await this.settle()
  }

  /** Lets everything that is under way in memory come to rest. */
  async settle(): Promise<void> {
    for (let i = 0; i < TURNS; i++) await new Promise((resolve) => setImmediate(resolve))
  }

  #next(): Wake | null {
    let next: Wake | null = null
    for (const wake of this.#wakes) if (next === null || wake.at < next.at) next = wake
    return next
  }
}
