import { type Clock, FairleadError } from '@fairlead/core/limits'

/** What came of asking for capacity: a reference to each start, and whether more would be refused. */
export interface Asked {
  readonly refs: readonly string[]
  readonly isRefused: boolean
}

interface Waiter {
  readonly sinceMs: number
  readonly untilMs: number
  readonly end: (ref: string | null) => void
  readonly fail: (error: unknown) => void
}

/** When to ask again after nobody could tell. */
const RETRY_MS = 100

/**
 * Jobs of one type that wait for one model, first come, first served. Each type has a queue of its own, so
 * one without capacity never holds up another (SLOT-10). Capacity is asked for as many as wait, and one
 * question is under way at a time, so an answer always goes to whoever is first.
 */
export class StartQueue {
  readonly #clock: Clock
  readonly #ask: (waiting: number) => Promise<Asked>
  readonly #giveBack: (ref: string) => void
  readonly #waiters = new Set<Waiter>()
  #trouble: string | null = null
  #isAsking = false
  #isWoken = false
  #cancelRetry: (() => void) | null = null
  #onIdle: (() => void) | null = null

  constructor(options: {
    readonly clock: Clock
    readonly ask: (waiting: number) => Promise<Asked>
    /** For a start that nobody waits for any more. */
    readonly giveBack: (ref: string) => void
  }) {
    this.#clock = options.clock
    this.#ask = options.ask
    this.#giveBack = options.giveBack
  }

  get size(): number {
    return this.#waiters.size
  }

  /** Since when the first of them waits; infinity if nobody does. */
  get sinceMs(): number {
    const [first] = this.#waiters
    return first?.sinceMs ?? Number.POSITIVE_INFINITY
  }

  /** Why nobody could tell when capacity was asked for last; null if it was answered. */
  get trouble(): string | null {
    return this.#trouble
  }

  /** A reference once it is started, null if that did not happen until the time or before the abort. */
  wait(untilMs: number, signal: AbortSignal | undefined): Promise<string | null> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => end(null)
      const leave = (): void => {
        this.#waiters.delete(waiter)
        cancel()
        signal?.removeEventListener('abort', giveUp)
      }
      const fail = (error: unknown): void => {
        leave()
        reject(error)
      }
      const end = (ref: string | null): void => {
        leave()
        resolve(ref)
        // Whoever stood behind it may be able to start.
        if (ref === null) this.wake()
      }
      const sinceMs = this.#clock.now()
      const waiter: Waiter = { sinceMs, untilMs, end, fail }
      // One that does not wait at all is asked for once.
      const isPatient = untilMs > sinceMs
      const cancel = isPatient ? this.#clock.wakeAt(untilMs, giveUp) : () => {}
      signal?.addEventListener('abort', giveUp)
      this.#waiters.add(waiter)
      this.wake()
    })
  }

  /** Starts as many as may start now. */
  wake(): void {
    this.#isWoken = true
    if (this.#isAsking || this.#waiters.size === 0) return
    this.#isAsking = true
    // Later in this tick, so that what comes together is asked for together.
    queueMicrotask(() => void this.#askOn())
  }

  clear(): void {
    this.#cancelRetry?.()
    this.#cancelRetry = null
    for (const waiter of [...this.#waiters]) waiter.end(null)
  }

  /** Once no question is under way: then nothing is started here that nobody knows of. */
  async whenIdle(): Promise<void> {
    if (!this.#isAsking) return
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
  }

  async #askOn(): Promise<void> {
    while (this.#isWoken && this.#waiters.size > 0) {
      this.#isWoken = false
      try {
        const { refs, isRefused } = await this.#ask(this.#waiters.size)
        this.#trouble = null
        for (const ref of refs) this.#handOut(ref)
        if (refs.length > 0 && !isRefused) this.#isWoken = true
      } catch (error) {
        this.#trouble = error instanceof Error ? error.message : String(error)
        if (isFinal(error)) for (const waiter of [...this.#waiters]) waiter.fail(error)
        else this.#retryLater()
      }
    }
    this.#isAsking = false
    this.#onIdle?.()
    const now = this.#clock.now()
    for (const waiter of [...this.#waiters]) if (waiter.untilMs <= now) waiter.end(null)
  }

  #handOut(ref: string): void {
    const [first] = this.#waiters
    if (first === undefined) this.#giveBack(ref)
    else first.end(ref)
  }

  #retryLater(): void {
    this.#cancelRetry ??= this.#clock.wakeAt(this.#clock.now() + RETRY_MS, () => {
      this.#cancelRetry = null
      this.wake()
    })
  }
}

/** No repetition changes it: a package that is missing, say (REDIS-8). */
function isFinal(error: unknown): boolean {
  return error instanceof FairleadError && !error.retryable
}
