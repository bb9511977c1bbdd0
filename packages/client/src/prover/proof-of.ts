import {
  aiDemand,
  buildProof,
  type JobId,
  type KindName,
  type LeaseId,
  type LeaseResult,
  NO_ATTESTATION,
  quantumDemand,
  sha3Hex,
} from '@fairlead/core'
import { invalidParams, KINDS } from '@fairlead/core/internal'
import type { Payloads } from '../payloads.ts'

/** What a handler says about its work by `job.prove`. All of it may be left out but the traps of quantum work. */
export interface ProofFacts {
  /** Millionths of a unit; left out, the units of the completion, or the estimate. */
  readonly unitsPpm?: number | bigint
  /** Its own words about its service. They are shown and decide nothing. */
  readonly qos?: {
    readonly p95LatencyMs: number | bigint
    readonly availabilityPpm: number | bigint
  }
  /** Quantum work: the trap circuits among the shots, and those that came out right. */
  readonly traps?: { readonly shots: number | bigint; readonly passed: number | bigint }
}

/** A completed lease, as its worker knows it. */
export interface ProvedWork {
  readonly jobId: JobId
  readonly leaseId: LeaseId
  readonly kind: KindName
  readonly payload: Payloads[KindName]
  readonly result: LeaseResult
  readonly facts: ProofFacts
  /** From the start of the handler to its end. */
  readonly tookMs: number
}

/** The terms of a provider that its proofs name. */
export interface ProverTerms {
  readonly chainId: bigint
  /** Null if none is in force. */
  readonly attestationHash: string | null
}

const PPM = 1_000_000n

/** True if there are proofs of such work. */
export function isProvable(kind: KindName): boolean {
  return KINDS[kind].proof !== null
}

/** The signed envelope about a completed lease (PROVE-2). */
export function proofOf(
  work: ProvedWork,
  signer: { readonly providerId: string; readonly secretKey: Uint8Array } & ProverTerms,
): Uint8Array {
  const { jobId, leaseId, kind, result, facts, tookMs } = work
  const { providerId, secretKey, chainId, attestationHash } = signer
  const type = KINDS[kind].proof
  if (type === null) throw invalidParams('kind', 'ai or quantum; there is no proof of other work')
  if (type.hasTraps && facts.traps === undefined) {
    throw invalidParams('traps', 'job.prove({ traps: { shots, passed } }) from the handler')
  }
  const qos = facts.qos ?? { p95LatencyMs: Math.max(0, Math.round(tookMs)), availabilityPpm: PPM }
  const { envelope } = buildProof({
    typeId: type.typeId,
    secretKey,
    body: {
      chainId,
      taskId: jobId,
      providerId,
      leaseId,
      outputDigest: result.digest ?? sha3Hex(result.output ?? new Uint8Array()),
      unitsPpm: whole('unitsPpm', facts.unitsPpm ?? unitsOf(work) * PPM),
      qos: {
        p95LatencyMs: whole('qos.p95LatencyMs', qos.p95LatencyMs),
        availabilityPpm: whole('qos.availabilityPpm', qos.availabilityPpm),
      },
      attestationHash: attestationHash ?? NO_ATTESTATION,
      traps:
        !type.hasTraps || facts.traps === undefined
          ? null
          : {
              shots: whole('traps.shots', facts.traps.shots),
              passed: whole('traps.passed', facts.traps.passed),
            },
    },
  })
  return envelope
}

/** What the completion says, or the estimate (QUOTA-2). */
function unitsOf({ kind, payload, result }: ProvedWork): bigint {
  if (result.actualUnits !== undefined) return BigInt(result.actualUnits)
  if (kind === 'ai') {
    const { model, max_tokens } = payload as Payloads['ai']
    return BigInt(aiDemand(model, max_tokens).units)
  }
  const { shots, depth_hint } = payload as Payloads['quantum']
  return BigInt(quantumDemand(shots, depth_hint).units)
}

/** Whole numbers of a handler as a proof has them; the bounds are those of `buildProof`. */
function whole(field: string, given: number | bigint): bigint {
  if (typeof given === 'bigint') return given
  if (Number.isSafeInteger(given)) return BigInt(given)
  throw invalidParams(field, 'a whole number, or a bigint')
}
