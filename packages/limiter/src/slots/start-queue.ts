import type { Clock } from '@fairlead/core'

interface Waiter {
  readonly tryStart: () => boolean
  readonly end: (started: boolean) => void
}

/**
 * Jobs of one type that wait for one model, first come, first served. Each type has a queue of its own, so
 * one without capacity never holds up another (SLOT-10).
 */
export class StartQueue {
  readonly #clock: Clock
  readonly #waiters = new Set<Waiter>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#waiters.size
  }

  /** True once it is started, false if that did not happen until the time or before the abort. */
  wait(
    untilMs: number,
    signal: AbortSignal | undefined,
    tryStart: () => boolean,
  ): Promise<boolean> {
    if (this.#waiters.size === 0 && tryStart()) return Promise.resolve(true)
    if (untilMs <= this.#clock.now()) return Promise.resolve(false)
    return new Promise((resolve) => {
      const giveUp = (): void => end(false)
      const end = (started: boolean): void => {
        this.#waiters.delete(waiter)
        cancel()
        signal?.removeEventListener('abort', giveUp)
        resolve(started)
        // Whoever stood behind it may be able to start.
        if (!started) this.wake()
      }
      const waiter: Waiter = { tryStart, end }
      const cancel = this.#clock.wakeAt(untilMs, giveUp)
      signal?.addEventListener('abort', giveUp)
      this.#waiters.add(waiter)
    })
  }

  /** Starts as many as may start now. */
  wake(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.tryStart()) return
      waiter.end(true)
    }
  }

  clear(): void {
    for (const waiter of [...this.#waiters]) waiter.end(false)
  }
}
