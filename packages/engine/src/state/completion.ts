import { decodeCbor, type Lease, type Policy, type ResultRow, sha3Hex } from '@fairlead/core'
import {
  type Claim,
  invalidParams,
  isPlainObject,
  KINDS,
  limitExceeded,
} from '@fairlead/core/internal'
import type { Command } from '../commands/command.ts'

type Complete = Extract<Command, { type: 'complete' }>

interface Said {
  readonly digest?: string | undefined
  readonly output?: Uint8Array | undefined
}

/** Precomputed, because many jobs have no output. */
const EMPTY_DIGEST = sha3Hex(new Uint8Array())

/**
 * The digest of an output. A digest given with it must match. Without either, it is the digest of empty output
 * (ENGINE-8).
 */
export function completionDigest({ digest, output }: Said): string {
  if (output === undefined) return digest ?? EMPTY_DIGEST
  if (!(output instanceof Uint8Array)) throw invalidParams('output', 'bytes, or to be left out')
  const own = output.length === 0 ? EMPTY_DIGEST : sha3Hex(output)
  if (digest === undefined || digest === own) return own
  throw invalidParams('output_digest', 'the SHA3-256 of the output, or none')
}

/** Bytes of a `content_type`. */
const CONTENT_TYPE_MAX = 128

/** Refuses an output, media type or meta that is too long (ENGINE-8). */
export function checkCompletion({ output, contentType, meta }: Complete, policy: Policy): void {
  const typeBytes = Buffer.byteLength(contentType ?? '')
  if (typeBytes > CONTENT_TYPE_MAX) {
    throw limitExceeded('content_type', CONTENT_TYPE_MAX, typeBytes)
  }
  const { outputMaxBytes, metaMaxBytes } = policy.queue.completion
  if (output !== null && output.length > outputMaxBytes) {
    throw limitExceeded('output', outputMaxBytes, output.length)
  }
  if (meta !== null && meta.length > metaMaxBytes) {
    throw limitExceeded('meta', metaMaxBytes, meta.length)
  }
}

/** True if a registration's output says that its fee was not taken (FEE-2). */
export function saysFeeFailed(output: Uint8Array | null): boolean {
  if (output === null) return false
  try {
    const said = decodeCbor(output)
    return isPlainObject(said) && said['fee_status'] === 'failed'
  } catch {
    // The output of a third-party worker may be any bytes.
    return false
  }
}

/** The facts of a FINAL claim that its result shows. */
export function resultClaim(claim: Claim, finalizedHeight: number): ResultRow['claim'] {
  const { claimKey, envelopeHash, nullifier, blockHeight, place, txHash, minerId, qos } = claim
  const { traps } = claim
  return {
    proofType: KINDS[claim.kind].proof?.name ?? '',
    claimKey,
    envelopeHash,
    nullifier,
    blockHeight,
    place,
    txHash,
    minerId,
    unitsPpm: claim.unitsPpm.toString(),
    p95LatencyMs: qos.p95LatencyMs.toString(),
    availabilityPpm: qos.availabilityPpm.toString(),
    traps: traps && { shots: traps.shots.toString(), passed: traps.passed.toString() },
    finalizedHeight,
  }
}

export function resultRow(
  lease: Lease,
  command: Pick<Complete, 'digest' | 'output' | 'contentType' | 'meta' | 'actualUnits'>,
  at: number,
  claim: ResultRow['claim'] = null,
): ResultRow {
  const { digest, output, contentType, meta, actualUnits } = command
  return {
    jobId: lease.job.id,
    jobSeq: lease.job.enqueueSeq,
    caller: lease.job.caller,
    leaseId: lease.id,
    providerId: lease.provider.id,
    digest,
    units: actualUnits ?? lease.job.units,
    at,
    output,
    contentType: output === null ? null : (contentType ?? null),
    meta,
    claim,
  }
}
