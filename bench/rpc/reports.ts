export interface WorkerReport {
  /** Completions that were answered since the last report. */
  readonly completed: number
  /** Jobs that have begun since then: number, and time on the machine's clock. */
  readonly started: readonly (readonly [n: number, atMs: number])[]
}

const TELL_MS = 20

/** Tells the parent of a worker's process how many jobs are done, and when each began. */
export class Reports {
  #completed = 0
  #started: [number, number][] = []

  constructor() {
    setInterval(() => this.#tell(), TELL_MS)
  }

  /** The first report, which has no jobs. */
  connected(): void {
    process.send?.({ completed: 0, started: [] } satisfies WorkerReport)
  }

  started(n: number): void {
    // The same clock in all processes of a machine.
    this.#started.push([n, performance.timeOrigin + performance.now()])
  }

  completed(): void {
    this.#completed++
  }

  #tell(): void {
    if (this.#completed === 0 && this.#started.length === 0) return
    const report: WorkerReport = { completed: this.#completed, started: this.#started }
    process.send?.(report)
    this.#completed = 0
    this.#started = []
  }
}
