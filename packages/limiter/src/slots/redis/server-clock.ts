import type { Clock } from '@fairlead/core/limits'

/**
 * The server's time, as far as an instance can tell: its own clock, and how far the server was ahead when it answered.
 * An answer is old by its way back, so this is late rather than early, and never by more than that.
 */
export class ServerClock implements Clock {
  readonly #clock: Clock
  readonly #isGiven: boolean
  /** Without one, until the first answer, the two are thought to be the same. */
  #aheadMs: number | null = null
  #latestMs = 0

  /** `isGiven`: a test gives the time to the server, so the two are the same. */
  constructor(clock: Clock, isGiven: boolean) {
    this.#clock = clock
    this.#isGiven = isGiven
  }

  now(): number {
    this.#latestMs = Math.max(this.#latestMs, this.#clock.now() + (this.#aheadMs ?? 0))
    return this.#latestMs
  }

  wakeAt(atMs: number, wake: () => void): () => void {
    return this.#clock.wakeAt(this.#clock.now() + atMs - this.now(), wake)
  }

  /** The quickest answer counts; a regular one counts in any case, because clocks drift. */
  heard(serverMs: number, isRegular: boolean): void {
    if (this.#isGiven) return
    const aheadMs = serverMs - this.#clock.now()
    if (isRegular || this.#aheadMs === null || aheadMs > this.#aheadMs) this.#aheadMs = aheadMs
  }
}
