import { epochOf } from '../../admit/quotas.ts'
import type { JobId, ProviderId } from '../../encoding/ids.ts'
import { KIND_NAMES } from '../../enqueue/kinds.ts'
import { type FairleadError, invariant } from '../../errors.ts'
import type { Lease } from '../../lease/lease.ts'
import type { Job } from '../../market/job.ts'
import type { Market } from '../../market/market.ts'
import { ENGINE_ERRORS } from '../../outcome/attempt-error.ts'
import { chargeJob } from '../../outcome/charge.ts'
import { completeJob } from '../../outcome/complete-lease.ts'
import { claimTerms } from '../../policy/claim-terms.ts'
import { kindsOf } from '../../registry/attestation/attestation.ts'
import type { Block, Claim, ClaimEvent } from '../chain/claim.ts'
import { checkProof, NO_ATTESTATION, type ProofVerdict, type ProvedJob } from './check-proof.ts'

/** A proof as it came in, and what its stored request says about it. */
export interface GivenProof {
  readonly envelope: Uint8Array
  /** The id that the stored request of the job gives again; null if there is no such job (PROOF-5). */
  readonly derivedTaskId: JobId | null
}

/** An accepted proof; `finalizedHeight` is null while its claim is PENDING. */
export interface ProofReceipt {
  readonly claim: Claim
  readonly finalizedHeight: number | null
}

/** A refusal is a value: failed traps charge the provider all the same. */
export type ProofAnswer = ProofReceipt | { readonly error: FairleadError }

/** `aicf.submitProof` (CLAIM-2). `by` is the provider that calls, null for an operator. */
export function submitProof(
  market: Market,
  { by, ...proof }: GivenProof & { readonly by: ProviderId | null },
): ProofAnswer {
  const { fund, nowMs, policy } = market
  const check = (at: number): ProofVerdict => checkGiven(market, proof, by, at)
  const { error, events } = fund.claims.submit(claimTerms(policy), nowMs, check)
  applyClaimEvents(market, events)
  if (error !== null) return { error }
  const last = events.at(-1)
  invariant(last?.type === 'final', 'without a chain an accepted proof is FINAL at once')
  return { claim: last.claim, finalizedHeight: last.finalizedHeight }
}

/** The proofs of a block that were accepted and refused, and the chain after it. */
export interface BlockAnswer {
  readonly head: number
  readonly finalHeight: number
  readonly accepted: number
  readonly refused: number
}

/** A block of the chain (CLAIM-3). */
export function applyBlock(market: Market, block: Block<GivenProof>): BlockAnswer {
  const { fund, nowMs, policy } = market
  const before = fund.claims.chain
  const events = fund.claims.applyBlock(claimTerms(policy), nowMs, block, (proof, at) =>
    checkGiven(market, proof, null, at),
  )
  const { head, finalHeight } = fund.claims.chain
  // A block that comes again with nothing new in it changes nothing.
  if (head !== before.head || finalHeight !== before.finalHeight) fund.noteChain()
  applyClaimEvents(market, events)
  const count = (type: ClaimEvent['type']): number =>
    events.filter((event) => event.type === type).length
  return {
    head: head as number,
    finalHeight: finalHeight as number,
    accepted: count('accepted'),
    refused: count('refused'),
  }
}

/** Proofs that are overdue by now (CLAIM-6). */
export function expireProofs(market: Market): void {
  const { fund, nowMs, policy } = market
  applyClaimEvents(market, fund.claims.expire(claimTerms(policy), nowMs))
}

/** When the next proof is overdue. */
export function nextProofDueAt({ fund, policy }: Market): number {
  if (!fund.claims.hasAwaits) return Number.POSITIVE_INFINITY
  return fund.claims.nextDueAt(claimTerms(policy)) ?? Number.POSITIVE_INFINITY
}

function checkGiven(
  market: Market,
  { envelope, derivedTaskId }: GivenProof,
  by: ProviderId | null,
  at: number,
): ProofVerdict {
  const { policy, fund } = market
  return checkProof(envelope, {
    by,
    at,
    chainId: policy.chain.id,
    unitsMaxPpm: policy.proof.unitsMaxPpm,
    trapsMinPpm: policy.proof.trapsMinPpm,
    isClaimed: (nullifier) => fund.claims.isPending(nullifier),
    jobOf: (taskId) => provedJob(market, taskId, derivedTaskId),
  })
}

function provedJob(market: Market, taskId: JobId, derived: JobId | null): ProvedJob | null {
  const job = market.jobs.get(taskId)
  if (job === undefined) return null
  const { kind } = job.shape
  return {
    kind,
    derivedTaskId: derived ?? (NO_ATTESTATION as JobId),
    estimatedUnits: job.units,
    attestationRequired: market.policy.registry.attestationRequired[kind],
    awaits: awaitedLease(market, job),
  }
}

function awaitedLease(market: Market, job: Job): ProvedJob['awaits'] {
  const awaited = market.fund.claims.awaitOf(job.id)
  if (awaited === null) return null
  const { provider, digest } = provedLease(job, awaited.leaseId)
  const { attestation, publicKey, id: providerId } = provider
  return {
    leaseId: awaited.leaseId,
    providerId,
    outputDigest: digest as string,
    publicKey,
    attestation: attestation && {
      hash: attestation.hash ?? NO_ATTESTATION,
      notBefore: attestation.notBefore,
      notAfter: attestation.notAfter,
      kinds: kindsOf(attestation, market.policy) ?? KIND_NAMES,
    },
  }
}

function provedLease(job: Job, leaseId: string): Lease {
  const lease = job.leases?.at(-1)
  invariant(lease?.id === leaseId, 'the newest lease of a job is the one that was completed')
  return lease
}

/** Brings the events of claims into the market, in their order: a price depends on the outcomes before it. */
function applyClaimEvents(market: Market, events: readonly ClaimEvent[]): void {
  market.fund.noteClaims(events)
  for (const event of events) {
    if (event.type === 'refused') continue
    const job = market.jobs.get(event.taskId)
    invariant(job !== undefined, 'a job with an await or a claim lives')
    switch (event.type) {
      case 'accepted':
        announceClaim(market, event.claim)
        break
      case 'dropped':
        dropClaim(market, job, event.claim)
        break
      case 'proofInvalid':
        chargeProof(market, job, event)
        break
      case 'final':
        finish(market, job, event.claim, event.finalizedHeight)
    }
  }
}

function announceClaim(
  market: Market,
  { taskId: jobId, leaseId, providerId, blockHeight }: Claim,
): void {
  const at = market.nowMs
  market.emit({ type: 'proofAccepted', at, jobId, leaseId, providerId, blockHeight })
}

function dropClaim(market: Market, job: Job, { leaseId }: Claim): void {
  job.proofAwaitedSince = market.nowMs
  market.touch.job(job)
  market.emit({ type: 'proofDropped', at: market.nowMs, jobId: job.id, leaseId })
}

/** Failed traps, or no claim in time (COMPLETE-2). The job no longer waits only for its proof, so its TTLs count again. */
function chargeProof(
  market: Market,
  job: Job,
  { leaseId, traps }: Pick<ClaimEvent & { type: 'proofInvalid' }, 'leaseId' | 'traps'>,
): void {
  const lease = provedLease(job, leaseId)
  job.proofAwaitedSince = null
  market.due.enterTtls(job)
  market.touch.failure(lease, ENGINE_ERRORS.PROOF_INVALID)
  chargeJob(market, job, lease.provider, { charge: 'PROOF_INVALID', traps })
}

/** The claim can no longer be undone: it is priced, then its outcome counts (CLAIM-5). */
function finish(market: Market, job: Job, claim: Claim, finalizedHeight: number): void {
  const { fund, nowMs, policy } = market
  const { kind, model, depthHint } = job.shape
  const { providerId, leaseId } = claim
  const band = fund.service.band(providerId, kind, policy.sla)
  fund.bill(claim, { band, model, depthHint }, { nowMs, policy })
  const lease = provedLease(job, leaseId)
  job.proofAwaitedSince = null
  completeJob(market, job, lease, 'proofValid')
  const { unitMs, traps } = claim
  const outcome = { result: 'completed', epoch: epochOf(nowMs, policy), unitMs, traps } as const
  fund.recordOutcome(providerId, kind, outcome, policy.sla)
  market.touch.proved(lease, claim, finalizedHeight)
}
