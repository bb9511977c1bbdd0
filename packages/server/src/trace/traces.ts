import type { JobId } from '@fairlead/core'

/** Traces that are remembered. A job that waits longer than it takes for so many others has no spans. */
const KEPT = 100_000

/** Which trace a job belongs to, for as long as it is of use: it goes with the job to its worker. */
export class Traces {
  readonly #byJob = new Map<JobId, string>()

  get isEmpty(): boolean {
    return this.#byJob.size === 0
  }

  begin(jobId: JobId, traceparent: string): void {
    const [oldest] = this.#byJob.keys()
    if (this.#byJob.size >= KEPT && oldest !== undefined) this.#byJob.delete(oldest)
    this.#byJob.set(jobId, traceparent)
  }

  of(jobId: JobId): string | null {
    return this.#byJob.get(jobId) ?? null
  }

  end(jobId: JobId): void {
    this.#byJob.delete(jobId)
  }
}
