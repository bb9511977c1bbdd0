import { fromHex } from '../../encoding/bytes.ts'
import { verifyEd25519 } from '../../encoding/ed25519.ts'
import type { JobId, LeaseId, ProviderId } from '../../encoding/ids.ts'
import { KINDS, type KindName } from '../../enqueue/kinds.ts'
import { type ErrorCode, type ErrorDetails, FairleadError } from '../../errors.ts'
import { nullifierIn, type Proof, readProof } from './envelope.ts'
import { type ProofBody, proofMessage, type Qos, type Traps } from './proof-body.ts'

/** Everything outside of an envelope that decides about it (PROOF-5). */
export interface ProofContext {
  /** The provider that calls; null for an operator and for a block. */
  readonly by: ProviderId | null
  /** The time of the check, ms: now, or the time of the block. */
  readonly at: number
  readonly chainId: bigint
  readonly unitsMaxPpm: number
  readonly trapsMinPpm: number
  /** True if a claim, PENDING or FINAL, has the nullifier. */
  readonly isClaimed: (nullifier: string) => boolean
  /** Null if there is no such job. */
  readonly jobOf: (taskId: JobId) => ProvedJob | null
  /** Decides about signatures. An engine that replays its log may answer from the log. */
  readonly verify?: typeof verifyEd25519
}

/** A job that a proof may be about. */
export interface ProvedJob {
  readonly kind: KindName
  /** The id that the stored request gives. */
  readonly derivedTaskId: JobId
  readonly estimatedUnits: number
  /** True if the job's kind requires an attestation. */
  readonly attestationRequired: boolean
  /** The completed lease whose proof is awaited; null if none is. */
  readonly awaits: AwaitedLease | null
}

export interface AwaitedLease {
  readonly leaseId: LeaseId
  readonly providerId: ProviderId
  readonly outputDigest: string
  /** The provider's key as 0x hex; null if it never gave one. */
  readonly publicKey: string | null
  /** The provider's attestation, in force or not; null if it has none. */
  readonly attestation: ProofAttestation | null
}

export interface ProofAttestation {
  readonly hash: string
  readonly notBefore: number
  readonly notAfter: number
  /** The kinds that its class names. */
  readonly kinds: readonly KindName[]
}

/** The facts of an accepted proof that its claim keeps. */
export interface AcceptedProof {
  readonly taskId: JobId
  readonly leaseId: LeaseId
  readonly providerId: ProviderId
  readonly kind: KindName
  readonly envelopeHash: string
  readonly nullifier: string
  readonly unitsPpm: bigint
  readonly qos: Qos
  readonly traps: Traps | null
}

export type ProofVerdict =
  | { readonly accepted: AcceptedProof; readonly error: null }
  | {
      readonly accepted: null
      readonly error: FairleadError
      /** The job that the proof is about; null if the envelope names none that exists. */
      readonly taskId: JobId | null
      /** The traps, if the signed proof itself shows that the work failed: the provider is charged (PROOF-7). */
      readonly failedTraps: Traps | null
    }

export type ProofReason = 'signature' | 'attestation' | 'traps'

/** Checks an envelope in the order of PROOF-5. The first check that fails is the refusal; it throws nothing. */
export function checkProof(envelope: Uint8Array, context: ProofContext): ProofVerdict {
  let proof: Proof
  try {
    proof = readProof(envelope)
  } catch (error) {
    if (!(error instanceof FairleadError) || error.code !== 'InvalidParams') throw error
    return refused(error, null)
  }
  const { taskId } = proof.body
  if (proof.nullifier !== nullifierIn(proof.type, proof.body)) {
    return refused(mismatch('nullifier', 'that of type, chain, task and lease in the body'), null)
  }
  if (context.isClaimed(proof.nullifier)) {
    const { nullifier } = proof
    return refused(failure('NullifierReused', 'this work has been claimed', { nullifier }), taskId)
  }
  const job = context.jobOf(taskId)
  if (job === null)
    return refused(failure('NotFound', `there is no job ${taskId}`, { taskId }), null)
  const { awaits } = job
  const error = standingError(context, taskId, awaits)
  if (error !== null || awaits === null) return refused(error as FairleadError, taskId)
  const { body } = proof
  const problem =
    claimMismatch(proof, job, awaits, context) ?? evidenceError(proof, job, awaits, context)
  if (problem !== null) {
    return refused(problem, taskId, problem.details['reason'] === 'traps' ? body.traps : null)
  }
  return {
    accepted: {
      taskId,
      leaseId: body.leaseId,
      providerId: awaits.providerId,
      kind: job.kind,
      envelopeHash: proof.envelopeHash,
      nullifier: proof.nullifier,
      unitsPpm: body.unitsPpm,
      qos: body.qos,
      traps: body.traps,
    },
    error: null,
  }
}

/** 4: the job awaits a proof, of the caller's own lease. */
function standingError(
  { by }: ProofContext,
  taskId: JobId,
  awaits: AwaitedLease | null,
): FairleadError | null {
  if (awaits === null) return failure('InvalidState', `job ${taskId} awaits no proof`, { taskId })
  if (by === null || by === awaits.providerId) return null
  return failure('Forbidden', `job ${taskId} awaits the proof of another provider`, { taskId })
}

/** 5: the proof is about this job, this lease and this output. */
function claimMismatch(
  { type, body }: Proof,
  job: ProvedJob,
  awaits: AwaitedLease,
  { chainId, unitsMaxPpm }: ProofContext,
): FairleadError | null {
  if (KINDS[job.kind].proof !== type) return mismatch('type_id', `the type of ${job.kind} work`)
  if (body.chainId !== chainId) return mismatch('chain_id', `${chainId}`)
  if (body.taskId !== job.derivedTaskId) return mismatch('task_id', 'the id of the stored request')
  if (body.leaseId !== awaits.leaseId) return mismatch('lease_id', 'the lease that was completed')
  if (body.providerId !== awaits.providerId) return mismatch('provider_id', 'its holder')
  if (body.outputDigest !== awaits.outputDigest) {
    return mismatch('output_digest', 'the digest of the completion')
  }
  const unitsMax = BigInt(unitsMaxPpm) * BigInt(job.estimatedUnits)
  return body.unitsPpm > unitsMax ? mismatch('units_ppm', `at most ${unitsMax}`) : null
}

/** 6: the provider signed it, under its attestation, and enough traps passed. */
function evidenceError(
  { type, body, signature }: Proof,
  job: ProvedJob,
  awaits: AwaitedLease,
  { at, trapsMinPpm, verify = verifyEd25519 }: ProofContext,
): FairleadError | null {
  const publicKey = awaits.publicKey === null ? null : fromHex(awaits.publicKey)
  if (publicKey === null || !verify(publicKey, proofMessage(type, body), signature)) {
    return evidence('signature', 'the signature is not by the key of the provider')
  }
  if (!isAttested(body, job, awaits, at)) {
    return evidence('attestation', 'the attestation is not the one in force, or not for this kind')
  }
  const { traps } = body
  if (traps !== null && traps.passed * 1_000_000n < BigInt(trapsMinPpm) * traps.shots) {
    return evidence('traps', `fewer than ${trapsMinPpm} ppm of the traps passed`)
  }
  return null
}

/** The hash in a proof without an attestation in force (PROOF-6). */
export const NO_ATTESTATION = `0x${'00'.repeat(32)}`

function isAttested(body: ProofBody, job: ProvedJob, awaits: AwaitedLease, at: number): boolean {
  const { attestation } = awaits
  const inForce =
    attestation !== null && at >= attestation.notBefore && at < attestation.notAfter
      ? attestation
      : null
  if (body.attestationHash !== (inForce?.hash ?? NO_ATTESTATION)) return false
  return !job.attestationRequired || inForce?.kinds.includes(job.kind) === true
}

function refused(
  error: FairleadError,
  taskId: JobId | null,
  failedTraps: Traps | null = null,
): ProofVerdict {
  return { accepted: null, error, taskId, failedTraps }
}

function failure(code: ErrorCode, message: string, details: ErrorDetails): FairleadError {
  return new FairleadError(code, message, details)
}

function mismatch(field: string, expected: string): FairleadError {
  return failure('ClaimMismatch', `${field}: expected ${expected}`, { field })
}

function evidence(reason: ProofReason, message: string): FairleadError {
  return failure('AttestationError', message, { reason })
}
