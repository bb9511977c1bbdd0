import { isHex32 } from '../encoding/bytes.ts'
import { KINDS } from '../enqueue/kinds.ts'
import { FairleadError, invalidParams, invariant } from '../errors.ts'
import { endLease } from '../lease/end-lease.ts'
import { type Lease, renewalMs } from '../lease/lease.ts'
import { heldLease, type LeaseCall, refuseEnded } from '../lease/lease-calls.ts'
import type { Job } from '../market/job.ts'
import type { Market } from '../market/market.ts'
import { creditProvider } from '../registry/health.ts'
import { unitMs } from '../registry/sla/outcome.ts'
import { ENGINE_ERRORS } from './attempt-error.ts'
import { chargeJob } from './charge.ts'
import { endJob } from './end-job.ts'
import { moveJob } from './move-job.ts'

export interface Completion extends LeaseCall {
  /** 32 bytes as `0x` hex. */
  readonly digest: string
  /** The units that the work really took; null keeps the estimate. */
  readonly actualUnits: number | null
  /** The tokens of prompt and answer that it really took; null keeps the estimate. */
  readonly actualTokens?: number | null
}

/** Completes an attempt. A repeat of the same completion gets the same answer (COMPLETE-1). */
export function completeLease(market: Market, completion: Completion): Lease {
  const { digest, actualUnits, actualTokens = null } = completion
  if (!isHex32(digest)) {
    throw invalidParams('output_digest', '32 bytes as 0x and 64 lower-case hex digits')
  }
  refuseUncountable('actual_units', actualUnits)
  refuseUncountable('actual_tokens', actualTokens)
  const lease = heldLease(market, completion)
  if (lease.status === 'COMPLETED' && lease.digest === digest) return lease
  refuseEnded(lease)
  const { job } = lease
  // A completion implies the ack (STATE-9).
  lease.isAcked = true
  endLease(market, lease, 'complete', actualUnits ?? job.units, actualTokens)
  lease.digest = digest
  if (job.session !== null) {
    market.sessions.moveTo(market.nowMs)
    market.sessions.outcome(job.id, { type: 'booked' })
  }
  if (KINDS[job.shape.kind].verification(market.policy) === 'none') {
    completeJob(market, job, lease, 'complete')
  } else awaitProof(market, job, lease)
  return lease
}

function refuseUncountable(field: string, given: number | null): void {
  if (given === null || (Number.isSafeInteger(given) && given >= 0)) return
  throw invalidParams(field, 'a whole number of at least 0')
}

/** Decides about the proof of a completed lease: it is final, or was found invalid (COMPLETE-2). */
export function decideProof(market: Market, job: Job, isValid: boolean): void {
  const lease = job.leases?.at(-1)
  if (job.proofAwaitedSince === null || lease === undefined) {
    throw new FairleadError('InvalidState', `job ${job.id} is ${job.status} and awaits no proof`, {
      jobId: job.id,
      status: job.status,
    })
  }
  stopAwaiting(market, job)
  job.proofAwaitedSince = null
  if (isValid) return completeJob(market, job, lease, 'proofValid')
  // The job no longer waits only for its proof, so its TTLs count again (TTL-2).
  market.due.enterTtls(job)
  market.touch.failure(lease, ENGINE_ERRORS.PROOF_INVALID)
  chargeJob(market, job, lease.provider, { charge: 'PROOF_INVALID' })
}

/** The job awaits no proof any more. With a claim it cannot end otherwise (CLAIM-1). */
export function stopAwaiting({ fund }: Market, job: Job): void {
  fund.claims.cancel(job.id)
  fund.noteAwait(job.id)
}

function awaitProof(market: Market, job: Job, lease: Lease): void {
  const { nowMs: since, fund } = market
  const { id: leaseId, tStart, tDeadline, renewals, terms } = lease
  moveJob(market, job, 'awaitProof')
  job.proofAwaitedSince = since
  const gapMs = tDeadline - tStart - terms.lengthMs - renewals * renewalMs(terms)
  const run = { elapsedMs: since - tStart, gapMs, estimatedUnits: job.units }
  fund.claims.complete({
    taskId: job.id,
    leaseId,
    kind: job.shape.kind,
    since,
    unitMs: unitMs(run),
  })
  fund.noteAwait(job.id)
  market.due.leaveTtls(job)
}

/** Ends a job whose lease is completed. */
export function completeJob(
  market: Market,
  job: Job,
  lease: Lease,
  on: 'complete' | 'proofValid',
): void {
  const { digest } = lease
  invariant(digest !== null, 'a completed lease has a digest')
  endJob(market, job, { on, reason: null })
  creditProvider(market, lease.provider)
  const { nowMs: at, emit } = market
  const { id: leaseId, provider } = lease
  const { id: providerId } = provider
  emit({ type: 'jobCompleted', at, jobId: job.id, digest, leaseId, providerId }, job)
}
