import type { Clock } from '@fairlead/core'

interface Wake {
  readonly at: number
  readonly wake: () => void
}

/** A clock that stands still until it is moved. */
export class TestClock implements Clock {
  #nowMs: number
  readonly #wakes = new Set<Wake>()

  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }

  now(): number {
    return this.#nowMs
  }

  wakeAt(atMs: number, wake: () => void): () => void {
    const entry = { at: atMs, wake }
    this.#wakes.add(entry)
    return () => this.#wakes.delete(entry)
  }

  /** Moves the time on, wake by wake; whoever is woken gets to finish before the next. */
  async advance(ms: number): Promise<void> {
    const until = this.#nowMs + ms
    for (;;) {
      await this.settle()
      const next = [...this.#wakes].sort((a, b) => a.at - b.at)[0]
      if (next === undefined || next.at > until) break
      this.#wakes.delete(next)
      this.#nowMs = Math.max(this.#nowMs, next.at)
      next.wake()
    }
    this.#nowMs = until
    await this.settle()
  }

  /** Moves the time on; nobody is woken yet. */
  jump(ms: number): void {
    this.#nowMs += ms
  }

  /** Lets everything that is under way come to rest. */
  async settle(): Promise<void> {
    for (let i = 0; i < 4; i++) await new Promise((done) => setImmediate(done))
  }
}
