import type { JobId, JobStatus, JournalRecord, LeaseRow, Loggable } from '@fairlead/core'
import { decodeOutput, type FeeStatus } from './registration-output.ts'

export type ReceiptResult = 'pending' | 'booked' | 'waitlisted' | 'failed' | 'canceled'

/** What became of a registration, for the person it is about (RECEIPT-1). Nothing in it is personal. */
export interface Receipt {
  readonly reference: string
  readonly jobId: JobId
  readonly platform: string
  readonly orgRef: string
  readonly eventId: string
  /** A keyed hash; null once it was erased whose it is. */
  readonly user: string | null
  readonly result: ReceiptResult
  /** Of a failure: a word such as `sold_out`. */
  readonly reason: string | null
  readonly bookingNumber: string | null
  readonly feeStatus: FeeStatus
  /** 0 is the first; null before the opening. */
  readonly rank: number | null
  readonly opensAt: number
  readonly queuedAt: number
  readonly firstAttemptAt: number | null
  /** How much later than the opening that was. */
  readonly firstAttemptDelayMs: number | null
  readonly endedAt: number | null
  /** Those that were sent, or may have been. */
  readonly attempts: number
  readonly wasThrottled: boolean
  readonly timeline: readonly {
    readonly at: number
    readonly action: string
    readonly details: Loggable
  }[]
}

export interface ReceiptInput {
  readonly reference: string
  readonly job: { readonly id: JobId; readonly status: JobStatus; readonly endedAt: number | null }
  readonly registration: {
    readonly platform: string
    readonly orgRef: string
    readonly eventId: string
    readonly userId: string | null
    readonly scheduledTime: number
    readonly queuedAt: number
  }
  readonly rank: number | null
  /** Of a job that FAILED. */
  readonly reason: string | null
  /** `sentAt`: when the first call of the attempt really went out; null where its worker has not told. */
  readonly leases: readonly (Pick<LeaseRow, 'tStart' | 'isAcked'> & {
    readonly sentAt?: number | null
  })[]
  /** What the job brought; null before that. */
  readonly output: Uint8Array | null
  readonly timeline: readonly Pick<JournalRecord, 'at' | 'action' | 'details'>[]
  /** That of the installation: replaces personal data. */
  readonly redact: (value: Loggable) => Loggable
}

/** Puts a receipt together from what is stored. */
export function receiptOf(input: ReceiptInput): Receipt {
  const { job, registration, leases, redact } = input
  const output = input.output === null ? null : decodeOutput(input.output)
  // Unacked means unsent: such a lease was no attempt.
  const acked = leases.filter(({ isAcked }) => isAcked)
  const sent = acked.map(({ tStart, sentAt }) => Math.max(tStart, sentAt ?? tStart))
  const firstAttemptAt = sent.length === 0 ? null : Math.min(...sent)
  const { user_id: user } = redact({ user_id: registration.userId }) as {
    user_id: string | null
  }
  const timeline = input.timeline.map(({ at, action, details }) => ({
    at,
    action,
    details: redact(details as Loggable),
  }))
  return {
    reference: input.reference,
    jobId: job.id,
    platform: registration.platform,
    orgRef: registration.orgRef,
    eventId: registration.eventId,
    user,
    result: resultOf(job.status, output?.outcome ?? 'booked'),
    reason: job.status === 'FAILED' || job.status === 'EXPIRED' ? input.reason : null,
    bookingNumber: output?.bookingNumber ?? null,
    feeStatus: output?.feeStatus ?? 'none',
    rank: input.rank,
    opensAt: registration.scheduledTime,
    queuedAt: registration.queuedAt,
    firstAttemptAt,
    // One that joined later was not late.
    firstAttemptDelayMs:
      firstAttemptAt === null
        ? null
        : Math.max(0, firstAttemptAt - Math.max(registration.scheduledTime, registration.queuedAt)),
    endedAt: job.endedAt,
    attempts: sent.length,
    wasThrottled: input.timeline.some(({ details }) => details['http'] === 429),
    timeline,
  }
}

function resultOf(status: JobStatus, success: 'booked' | 'waitlisted'): ReceiptResult {
  switch (status) {
    case 'COMPLETED':
      return success
    case 'FAILED':
    case 'EXPIRED':
      return 'failed'
    case 'CANCELED':
      return 'canceled'
    case 'QUEUED':
    case 'ASSIGNED':
    case 'RUNNING':
      return 'pending'
  }
}
