import type { JobId } from '../encoding/ids.ts'

/** The newest lines that an attempt has logged. */
export interface AttemptLog {
  readonly jobId: JobId
  readonly attempt: number
  readonly lines: readonly LogLine[]
  /** Older lines that are gone. */
  readonly dropped: number
}

export interface LogLine {
  readonly at: number
  readonly text: string
}

/**
 * Log lines of attempts, beside the tables (PROGRESS-3). They are no part of the state: a crash may lose the newest, and
 * nothing is decided by them.
 */
export interface JobLogs {
  /** Replaces what is kept of each attempt. */
  save(logs: readonly AttemptLog[]): void
  /** Of one job, the oldest attempt first. */
  read(jobId: JobId): AttemptLog[]
  /** Jobs with lines, in order of id, after this one. */
  jobsAfter(jobId: JobId | null, limit: number): JobId[]
  delete(jobIds: readonly JobId[]): void
  close(): void
}
