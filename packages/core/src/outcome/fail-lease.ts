import { isOwnTask } from '../enqueue/own-tasks.ts'
import { invalidParams } from '../errors.ts'
import { cancelLive } from '../lease/end-lease.ts'
import type { Lease } from '../lease/lease.ts'
import { type LeaseCall, liveHeldLease } from '../lease/lease-calls.ts'
import type { Market } from '../market/market.ts'
import type { LeaseFailure } from '../ports/lease-source.ts'
import { attemptError } from './attempt-error.ts'
import { chargeJob } from './charge.ts'
import { failAttempt } from './fail-attempt.ts'

export interface Failure extends LeaseCall, LeaseFailure {}

/** Permanent errors that are the job's own fault. The provider does not pay for them (HEALTH-5). */
export const JOBS_OWN_FAULTS: ReadonlySet<string> = new Set([
  'invalid_input',
  'validation_error',
  'sold_out',
  'not_found',
  'auth_error',
])

/** The provider could not do the work. Every failure is charged, a permanent one too (RETRY-2). */
export function failLease(market: Market, failure: Failure): Lease {
  const { permanent, retryAfterMs } = failure
  checkWait('retry_after_ms', retryAfterMs)
  checkWait('sent_after_ms', failure.sentAfterMs)
  const lease = liveHeldLease(market, failure)
  if (lease.job.session !== null) {
    failAttempt(market, lease, failure)
    return lease
  }
  const error = attemptError(failure)
  cancelLive(market, lease, 'provider_fail', { code: error.code })
  market.touch.failure(lease, error)
  chargeJob(market, lease.job, lease.provider, {
    charge: 'PROVIDER_FAIL',
    permanent,
    // The other end of a delivery says nothing about the server that tried (HOOK-3).
    jobsFault: isOwnTask(lease.job.shape) || (permanent && JOBS_OWN_FAULTS.has(error.code)),
    retryAfterMs,
  })
  return lease
}

function checkWait(field: string, ms = 0): void {
  if (!Number.isSafeInteger(ms) || ms < 0)
    throw invalidParams(field, 'a whole number of at least 0')
}
