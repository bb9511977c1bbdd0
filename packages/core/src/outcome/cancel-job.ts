import type { Caller } from '../encoding/ids.ts'
import { FairleadError } from '../errors.ts'
import { cancelLive } from '../lease/end-lease.ts'
import type { Job } from '../market/job.ts'
import type { Market } from '../market/market.ts'
import { stopAwaiting } from './complete-lease.ts'
import { advanceSessions, endAttempt, endRegistration } from './end-attempt.ts'
import { endJob, liveLease } from './end-job.ts'
import { hasEnded, invalidJobMove } from './job-table.ts'

/** The requester of a job, or an operator, cancels it (STATE-5). */
export function cancelJob(market: Market, job: Job, by: Caller | 'operator'): void {
  if (by !== 'operator' && by !== job.caller) {
    throw new FairleadError('Forbidden', `job ${job.id} belongs to another requester`, {
      jobId: job.id,
    })
  }
  if (hasEnded(job.status)) throw invalidJobMove(job.id, job.status, 'cancel')
  if (job.proofAwaitedSince !== null) stopAwaiting(market, job)
  if (job.session === null) endJob(market, job, { on: 'cancel', reason: null })
  else cancelRegistration(market, job)
}

/**
 * A job that may have been sent does not end before its outcome is known; the cancel is noted (ATTEMPT-6). An
 * attempt that was not acked was not sent, and ends at once.
 */
function cancelRegistration(market: Market, job: Job): void {
  advanceSessions(market)
  // A job that has just ended is not cancelled.
  const dispatched = market.sessions.cancel(job.id)
  if (dispatched === null) throw invalidJobMove(job.id, job.status, 'cancel')
  if (dispatched.end !== null) return endRegistration(market, job, dispatched.end)
  market.emit({ type: 'jobCancelNoted', at: market.nowMs, jobId: job.id })
  if (job.notBefore !== dispatched.retryAt) {
    // It no longer waits for a retry but for a lookup.
    job.notBefore = dispatched.retryAt
    market.touch.job(job)
  }
  const lease = liveLease(job)
  if (lease === null || lease.isAcked) return
  cancelLive(market, lease, 'job_ended')
  endAttempt(market, job, { type: 'unsent' }, { on: 'giveBack', reason: 'LEASE_CANCELLED' })
}
