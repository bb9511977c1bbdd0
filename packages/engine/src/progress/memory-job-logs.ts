import type { AttemptLog, JobId, JobLogs } from '@fairlead/core'

/** Log lines in memory, for an engine without a file. */
export class MemoryJobLogs implements JobLogs {
  readonly #byJob = new Map<JobId, Map<number, AttemptLog>>()

  save(logs: readonly AttemptLog[]): void {
    for (const log of logs) {
      const attempts = this.#byJob.get(log.jobId) ?? new Map<number, AttemptLog>()
      attempts.set(log.attempt, log)
      this.#byJob.set(log.jobId, attempts)
    }
  }

  read(jobId: JobId): AttemptLog[] {
    return [...(this.#byJob.get(jobId)?.values() ?? [])].sort((a, b) => a.attempt - b.attempt)
  }

  jobsAfter(jobId: JobId | null, limit: number): JobId[] {
    return [...this.#byJob.keys()]
      .filter((id) => jobId === null || id > jobId)
      .sort()
      .slice(0, limit)
  }

  delete(jobIds: readonly JobId[]): void {
    for (const id of jobIds) this.#byJob.delete(id)
  }

  close(): void {}
}
