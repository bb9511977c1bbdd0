import type { JobId, JobStatus, LeaseRow } from '@fairlead/core'
import type { JournalRecord, Loggable } from '@fairlead/core/internal'
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
  /** Attempts that ended before anything went out. */
  readonly unsent: number
  /** When the site first answered with 429; null if it never did. */
  readonly throttledAt: number | null
  /** A cancel waits for the outcome of an attempt. */
  readonly isCancelNoted: boolean
  /** The report of the last attempt that was sent and did not book; null where its worker was lost. */
  readonly lastReport: { readonly code: string; readonly http: number | null } | null
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
  readonly leases: readonly LeaseFacts[]
  /** What the job brought; null before that. */
  readonly output: Uint8Array | null
  readonly timeline: readonly Pick<JournalRecord, 'at' | 'action' | 'details'>[]
  /** That of the installation: replaces personal data. */
  readonly redact: (value: Loggable) => Loggable
}

/** What is known of when an attempt was sent (MESSAGE-3). */
export interface LeaseFacts extends Pick<LeaseRow, 'tStart' | 'isAcked'> {
  /** When the first call of the attempt really went out; null where its worker has not told. */
  readonly sentAt?: number | null
  /** Nothing went out before its ack; null where that is not known. */
  readonly ackedAt?: number | null
  /** Its worker has told that nothing went out. */
  readonly isUnsent?: boolean
}

/** Puts a receipt together from what is stored. */
export function receiptOf(input: ReceiptInput): Receipt {
  const { job, registration, leases, redact } = input
  const output = input.output === null ? null : decodeOutput(input.output)
  // Unacked means unsent: such a lease was no attempt.
  const acked = leases.filter(({ isAcked }) => isAcked)
  const sent = acked.filter(({ isUnsent = false }) => !isUnsent).map(sentAtOf)
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
    unsent: acked.length - sent.length,
    throttledAt: input.timeline.find(({ details }) => details['http'] === 429)?.at ?? null,
    isCancelNoted: input.timeline.some(({ action }) => action === 'jobCancelNoted'),
    lastReport: lastReportOf(input.timeline),
    timeline,
  }
}

function sentAtOf({ tStart, ackedAt, sentAt }: LeaseFacts): number {
  return Math.max(tStart, sentAt ?? ackedAt ?? tStart)
}

/** Of lookups, and of attempts of which nothing went out, the report says nothing of a booking. */
function lastReportOf(timeline: ReceiptInput['timeline']): Receipt['lastReport'] {
  const booking = timeline.filter(
    ({ action, details }) => action === 'jobAssigned' && details['task'] !== 'lookup',
  )
  for (const { details } of booking.toReversed()) {
    const { leaseId } = details
    const report = timeline.find(
      (entry) => entry.action === 'leaseCancelled' && entry.details['leaseId'] === leaseId,
    )?.details
    const { code, http = null, sentAfterMs } = report ?? {}
    if (typeof code !== 'string') return null
    if (http !== null || sentAfterMs !== undefined) return { code, http: http as number | null }
  }
  return null
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
