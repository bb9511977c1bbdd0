import { toHex } from '../encoding/bytes.ts'
import { encodeCbor } from '../encoding/cbor.ts'
import { sha3 } from '../encoding/hash.ts'
import { cancelLive, endLease } from '../lease/end-lease.ts'
import type { Lease } from '../lease/lease.ts'
import type { Market } from '../market/market.ts'
import type { LeaseFailure } from '../ports/lease-source.ts'
import { registrationCode } from './attempt-error.ts'
import { completeJob } from './complete-lease.ts'
import { applyAttemptOutcome } from './end-attempt.ts'
import type { AttemptOutcome } from './judge-attempt.ts'

/** A longer wait counts as this. It outlasts any use, and is still a whole number when added up. */
const RETRY_AFTER_MAX_MS = 366 * 86_400_000

/** The result of a job that a lookup found to be booked: nothing more is known. */
export const FOUND_OUTPUT = encodeCbor({ outcome: 'booked' })
export const FOUND_DIGEST = toHex(sha3(FOUND_OUTPUT))

/**
 * Handles a platform's answer to a registration, or the finding of a lookup. Neither touches the health of the
 * worker (HEALTH-5). The session decides about retry, end or completion (ATTEMPT-1).
 */
export function failAttempt(market: Market, lease: Lease, failure: LeaseFailure): void {
  const { job } = lease
  const { sentAfterMs, http } = failure
  // The code becomes the job's reason and a log entry, so it must not be free text.
  const code = registrationCode(failure.code, market.sessions.policyOf(job.shape.model ?? ''))
  market.sessions.moveTo(market.nowMs)
  const isLookup = job.session?.lookupUntil != null
  const outcome = outcomeOf({ ...failure, code }, isLookup)
  const dispatched = market.sessions.outcome(job.id, outcome)
  if (dispatched.end?.status === 'COMPLETED') {
    endLease(market, lease, 'complete', job.units)
    lease.digest = FOUND_DIGEST
    return completeJob(market, job, lease, 'complete')
  }
  if (!isLookup) job.retries++
  cancelLive(market, lease, 'provider_fail', {
    code,
    ...(http === undefined ? {} : { http }),
    ...(sentAfterMs === undefined ? {} : { sentAfterMs }),
  })
  market.touch.failure(lease, { code, message: null, details: null })
  applyAttemptOutcome(market, job, dispatched, { on: 'providerFail', reason: 'PROVIDER_FAIL' })
}

function outcomeOf(failure: LeaseFailure, isLookup: boolean): AttemptOutcome {
  const { code, permanent, http, retryAfterMs, isUnknown, isUnsent, lookup } = failure
  const said = {
    ...(http === undefined ? {} : { http }),
    ...(retryAfterMs === undefined
      ? {}
      : { retryAfterMs: Math.min(retryAfterMs, RETRY_AFTER_MAX_MS) }),
    ...(lookup === undefined ? {} : { lookup }),
  }
  if (isLookup || isUnknown === true) return { type: 'unknown', ...said }
  return {
    type: 'refused',
    error: code,
    isPermanent: permanent,
    ...(isUnsent === undefined ? {} : { isUnsent }),
    ...said,
  }
}
