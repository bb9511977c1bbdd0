import type { JobId } from '../encoding/ids.ts'

/** The newest lines that an attempt has logged, and how far it came. */
export interface AttemptLog {
  readonly jobId: JobId
  readonly attempt: number
  readonly lines: readonly LogLine[]
  /** Older lines that are gone. */
  readonly dropped: number
  /** As its worker said last; null if it said nothing. */
  readonly progress: AttemptProgress | null
}

export interface AttemptProgress {
  readonly percent: number | null
  readonly message: string | null
  readonly at: number
}

export interface LogLine {
  readonly at: number
  readonly text: string
}

/**
 * What attempts have logged and how far they came, beside the tables (PROGRESS-3). It is no part of the state: a crash may
 * lose the newest, and nothing is decided by it.
 */
export interface JobLogs {
  /** Replaces what is kept of each attempt. */
  save(logs: readonly AttemptLog[]): void
  /** Of one job, the oldest attempt first. */
  read(jobId: JobId): AttemptLog[]
  /** Jobs with lines or progress, in order of id, after this one. */
  jobsAfter(jobId: JobId | null, limit: number): JobId[]
  delete(jobIds: readonly JobId[]): void
  close(): void
}
