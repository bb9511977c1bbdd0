import { insertionIndex, type SessionJob } from './session-order.ts'

/**
 * The jobs of a session that have not ended, in its order (SESSION-2). A binary search finds a place, so it costs
 * a few comparisons even in a long line. A job that joins nearly always comes last.
 */
export class SessionLine {
  #jobs: SessionJob[] = []

  get size(): number {
    return this.#jobs.length
  }

  /** In order. */
  jobs(): readonly SessionJob[] {
    return this.#jobs
  }

  add(job: SessionJob): void {
    this.#jobs.splice(insertionIndex(this.#jobs, job), 0, job)
  }

  remove(job: SessionJob): void {
    const place = this.placeOf(job)
    if (place > 0) this.#jobs.splice(place - 1, 1)
  }

  /** From 1; 0 for a job that is not in line. */
  placeOf(job: SessionJob): number {
    const place = insertionIndex(this.#jobs, job)
    return this.#jobs[place - 1] === job ? place : 0
  }

  /** Call this after a change of some jobs' times. */
  rebuild(): void {
    const jobs = this.#jobs
    this.#jobs = []
    for (const job of jobs) this.add(job)
  }
}
