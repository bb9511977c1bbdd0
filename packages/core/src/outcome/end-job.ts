import { cancelLive } from '../lease/end-lease.ts'
import type { Lease } from '../lease/lease.ts'
import { isLive } from '../lease/lease-table.ts'
import type { EndReason, Job } from '../market/job.ts'
import { type Market, queueFor } from '../market/market.ts'
import { dedupeNameOf } from '../options/dedupe.ts'
import type { JobEvent } from './job-table.ts'
import { moveJob } from './move-job.ts'

/** The lease that holds the job now, if there is one. */
export function liveLease(job: Job): Lease | null {
  const newest = job.leases?.at(-1)
  return newest !== undefined && isLive(newest.status) ? newest : null
}

/** Ends a job for good. It keeps its reason as a tombstone until it is deleted (TTL-3). */
export function endJob(
  market: Market,
  job: Job,
  how: { readonly on: JobEvent; readonly isLast?: boolean; readonly reason: EndReason | null },
): void {
  const lease = liveLease(job)
  if (lease !== null) cancelLive(market, lease, 'job_ended')
  const status = moveJob(market, job, how.on, how.isLast ?? false)
  leaveOrder(market, job, how.reason)
  job.notBefore = null
  job.reason = how.reason
  job.endedAt = market.nowMs
  job.proofAwaitedSince = null
  job.denials = null
  market.due.leaveTtls(job)
  market.ended.push(job)
  market.dependencies.end(job)
  if (job.options?.dedupeKey !== undefined) market.dedupe.delete(dedupeNameOf(job))
  announceEnd(market, job, status, how.reason)
}

/**
 * Removes a job from its queue or session. A registration that may have booked keeps its place there (SESSION-10).
 */
function leaveOrder(market: Market, job: Job, reason: EndReason | null): void {
  if (job.session === null) {
    queueFor(market, job.shape.kind).remove(job)
    return
  }
  const { platform, orgRef, eventId, seat } = job.session.entry
  const holder = { platform, orgRef, eventId, seat, caller: job.caller, jobId: job.id }
  const mayBeBooked =
    job.status === 'COMPLETED' ||
    reason === 'outcome_unknown' ||
    (job.status === 'EXPIRED' && isOutcomeOpen(job))
  market.sessions.drop(job.id)
  market.seats.leave(holder, mayBeBooked)
  if (mayBeBooked) market.touch.session.seat(holder)
}

/** True if an attempt that may have booked was in flight, or its outcome is still open. */
function isOutcomeOpen({ session, leases }: Job): boolean {
  if (session === null) return false
  const { isUnknown, lookupUntil, sentAt } = session
  const isSent = sentAt !== null && leases?.at(-1)?.isAcked === true
  return isUnknown || lookupUntil !== null || isSent
}

/**
 * Removes ended jobs and their leases from memory: those that ended by `endedBy`, or all. The engine answers about
 * them from its tables. A market without tables keeps them for as long as `keptSince` says (TTL-3).
 */
export function forgetEnded({ ended, jobs, leases }: Market, endedBy = Infinity): void {
  let kept = 0
  for (const job of ended) {
    if ((job.endedAt ?? 0) > endedBy) {
      ended[kept++] = job
      continue
    }
    jobs.delete(job.id)
    for (const lease of job.leases ?? []) leases.delete(lease.id)
  }
  ended.length = kept
}

function announceEnd(
  market: Market,
  job: Job,
  status: Job['status'],
  reason: EndReason | null,
): void {
  const { nowMs: at, emit } = market
  const { id: jobId } = job
  if (status === 'CANCELED') {
    emit({ type: 'jobCanceled', at, jobId, ...(reason === null ? {} : { reason }) })
  } else if (reason !== null) {
    emit({ type: status === 'EXPIRED' ? 'jobExpired' : 'jobFailed', at, jobId, reason })
  }
}
