import type { ResultRow } from '@fairlead/core'
import { type Claim, KINDS, type ResultClaim } from '@fairlead/core/internal'
import type { ProofClaim, ResultRecord } from '@fairlead/protocol'
import { amountRecord } from './amount-record.ts'

type Metrics = ProofClaim['metrics']

/** A claim as the wire has it. The place in the block means something with a chain only. */
export function claimRecord(
  claim: Claim,
  finalizedHeight: number | null,
  hasChain: boolean,
): ProofClaim {
  const { kind, qos, traps, place } = claim
  const proof = KINDS[kind].proof?.name as ProofClaim['proof_type']
  return {
    schema_version: 0,
    task_id: claim.taskId,
    lease_id: claim.leaseId,
    provider_id: claim.providerId,
    proof_type: proof,
    envelope_hash: claim.envelopeHash,
    nullifier: claim.nullifier,
    metrics: metricsOf(proof, claim.unitsPpm, qosRecord(qos), traps),
    block_height: claim.blockHeight,
    ...(hasChain ? { proof_idx_in_block: place } : {}),
    tx_hash: claim.txHash,
    status: finalizedHeight === null ? 'PENDING' : 'FINAL',
    finalized_height: finalizedHeight,
  }
}

/** The same from the result that the claim has brought about. */
export function claimOfResult(
  { jobId, leaseId, providerId }: ResultRow,
  claim: ResultClaim,
  hasChain: boolean,
): ProofClaim {
  const proof = claim.proofType as ProofClaim['proof_type']
  const { traps, place } = claim
  return {
    schema_version: 0,
    task_id: jobId,
    lease_id: leaseId,
    provider_id: providerId,
    proof_type: proof,
    envelope_hash: claim.envelopeHash,
    nullifier: claim.nullifier,
    metrics: metricsOf(proof, claim.unitsPpm, qosOf(claim), traps),
    block_height: claim.blockHeight,
    ...(hasChain ? { proof_idx_in_block: place } : {}),
    tx_hash: claim.txHash,
    status: 'FINAL',
    finalized_height: claim.finalizedHeight,
  }
}

/** The fields of a result that come from its claim. */
export function provedFields(
  claim: ResultClaim,
): Pick<ResultRecord, 'units' | 'qos' | 'proof_refs' | 'finalized_height'> {
  const { proofType, envelopeHash, nullifier, blockHeight, txHash, unitsPpm } = claim
  return {
    units: unitsOf(unitsPpm),
    qos: qosOf(claim),
    proof_refs: [
      {
        proof_type: proofType as ProofClaim['proof_type'],
        proof_hash: envelopeHash,
        nullifier,
        block_height: blockHeight,
        tx_hash: txHash,
      },
    ],
    finalized_height: claim.finalizedHeight,
  }
}

function metricsOf(
  proof: ProofClaim['proof_type'],
  unitsPpm: bigint | string,
  qos: Metrics['qos'],
  traps: { readonly shots: bigint | string; readonly passed: bigint | string } | null,
): Metrics {
  const units = unitsOf(unitsPpm)
  return {
    ...(proof === 'AI_V1' ? { ai_units: units } : { quantum_units: units }),
    ...(traps === null ? {} : { traps_ratio: Number(traps.passed) / Number(traps.shots) }),
    qos,
  }
}

function qosOf({ p95LatencyMs, availabilityPpm }: ResultClaim): Metrics['qos'] {
  return qosRecord({
    p95LatencyMs: BigInt(p95LatencyMs),
    availabilityPpm: BigInt(availabilityPpm),
  })
}

function qosRecord({ p95LatencyMs, availabilityPpm }: Claim['qos']): Metrics['qos'] {
  return { p95_latency_ms: amountRecord(p95LatencyMs), availability: unitsOf(availabilityPpm) }
}

/** Millionths as people read them. */
function unitsOf(ppm: bigint | string): number {
  return Number(ppm) / 1_000_000
}
