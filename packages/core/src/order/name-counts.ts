import type { QueuedJob } from './queued-job.ts'

/** So many names keep their entry while no job has them, because a name may come and go with each job. */
const NAMES_KEPT = 1_000

/** Numbers of jobs by the model or task that they name; null for none. */
export class NameCounts {
  readonly #counts = new Map<string | null, number>()

  /** Some of them may be 0. */
  get counts(): ReadonlyMap<string | null, number> {
    return this.#counts
  }

  of(name: string | null): number {
    return this.#counts.get(name) ?? 0
  }

  add({ shape: { model } }: QueuedJob, by: 1 | -1): void {
    const count = (this.#counts.get(model) ?? 0) + by
    if (count === 0 && this.#counts.size > NAMES_KEPT) this.#counts.delete(model)
    else this.#counts.set(model, count)
  }
}
