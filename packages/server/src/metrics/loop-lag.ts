const SAMPLE_MS = 250
/** How long the worst sample counts. */
const MEMORY = 20

/** How late the event loop is: the worst of the last five seconds. */
export class LoopLag {
  readonly #samples: number[] = []
  readonly #timer: NodeJS.Timeout
  #dueAt = performance.now() + SAMPLE_MS

  constructor() {
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS).unref()
  }

  get ms(): number {
    // One that is due and has not come yet is late already.
    const now = Math.max(0, performance.now() - this.#dueAt)
    return Math.max(now, ...this.#samples)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #sample(): void {
    const now = performance.now()
    this.#samples.push(Math.max(0, now - this.#dueAt))
    if (this.#samples.length > MEMORY) this.#samples.shift()
    this.#dueAt = now + SAMPLE_MS
  }
}
