import { PermanentFailure } from '@fairlead/client'
import type { JobStatus } from '@fairlead/core'
import { type Duration, msOf } from './time.ts'

/** Thrown by a handler, it ends the job: no other attempt could succeed. `code` tells failures apart. */
export class PermanentError extends PermanentFailure {
  override readonly name = 'PermanentError'

  constructor(message: string, { code = 'permanent', ...options }: FailureOptions = {}) {
    super(code, message, options)
  }
}

/** Thrown by a handler, it asks for the next attempt not to begin before so long: `new RetryAfter('30s')`. */
export class RetryAfter extends Error {
  override readonly name = 'RetryAfter'
  readonly retryAfterMs: number
  readonly code: string

  constructor(
    wait: Duration,
    message = `try again in ${wait}${typeof wait === 'number' ? ' ms' : ''}`,
    { code = 'retry_after', ...options }: FailureOptions = {},
  ) {
    super(message, options)
    this.retryAfterMs = msOf('wait', wait)
    this.code = code
  }
}

type FailureOptions = ErrorOptions & { readonly code?: string }

/** What is known of a job that ended without a result. */
interface JobEnd {
  readonly jobId: string
  readonly taskName: string
  readonly status: JobStatus
  readonly reason: string | null
  readonly attempts: number
  /** Of the last attempt that failed. */
  readonly error: { readonly code: string; readonly message: string | null } | null
}

/** Thrown by `job.result()` for a job that ended without one. */
export class JobError extends Error {
  override readonly name = 'JobError'
  readonly jobId: string
  readonly status: JobStatus
  /** Of the last attempt that failed; that of the end where none did, such as `canceled`. */
  readonly code: string
  /** How many attempts began. */
  readonly attempts: number
  /** Why the job ended, such as `retries_exhausted`. */
  readonly reason: string | null

  constructor(end: JobEnd, options?: ErrorOptions) {
    super(textOf(end), options)
    this.jobId = end.jobId
    this.status = end.status
    this.code = end.error?.code ?? end.reason ?? end.status.toLowerCase()
    this.attempts = end.attempts
    this.reason = end.reason
  }
}

function textOf({ jobId, taskName, status, reason, attempts, error }: JobEnd): string {
  const count = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  const why = reason === null ? '' : ` (${reason})`
  const last = error === null ? '' : `: ${[error.code, error.message].filter(Boolean).join(': ')}`
  return `${taskName} ${jobId.slice(0, 12)} is ${status}${why} after ${count}${last}`
}
