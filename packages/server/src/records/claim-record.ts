import { KINDS } from '@fairlead/core/internal'
import type { ProofClaim, ResultRecord } from '@fairlead/protocol'
import type { ClaimReceipt, ResultClaim } from '../fund/fund-engine.ts'
import { amountRecord } from './amount-record.ts'

/** A claim as the wire has it (PROOF-2). The place in the block means something with a chain only. */
export function claimRecord(
  { claim, status, finalizedHeight }: ClaimReceipt,
  hasChain: boolean,
): ProofClaim {
  const { kind, traps, place } = claim
  const units = unitsOf(claim.unitsPpm)
  return {
    schema_version: 0,
    task_id: claim.taskId,
    lease_id: claim.leaseId,
    provider_id: claim.providerId,
    proof_type: KINDS[kind].proof?.name as ProofClaim['proof_type'],
    envelope_hash: claim.envelopeHash,
    nullifier: claim.nullifier,
    metrics: {
      ...(kind === 'ai' ? { ai_units: units } : { quantum_units: units }),
      ...(traps === null ? {} : { traps_ratio: Number(traps.passed) / Number(traps.shots) }),
      qos: qosRecord(claim.qos),
    },
    block_height: claim.blockHeight,
    ...(hasChain ? { proof_idx_in_block: place } : {}),
    tx_hash: claim.txHash,
    status,
    finalized_height: finalizedHeight,
  }
}

/** The fields of a result that come from its claim. */
export function provedFields(
  claim: ResultClaim,
): Pick<ResultRecord, 'units' | 'qos' | 'proof_refs' | 'finalized_height'> {
  const { proofType, envelopeHash, nullifier, blockHeight, txHash, unitsPpm, qos } = claim
  return {
    units: unitsOf(unitsPpm),
    qos: qosRecord(qos),
    proof_refs: [
      {
        proof_type: proofType,
        proof_hash: envelopeHash,
        nullifier,
        block_height: blockHeight,
        tx_hash: txHash,
      },
    ],
    finalized_height: claim.finalizedHeight,
  }
}

function qosRecord({
  p95LatencyMs,
  availabilityPpm,
}: ResultClaim['qos']): ProofClaim['metrics']['qos'] {
  return { p95_latency_ms: amountRecord(p95LatencyMs), availability: unitsOf(availabilityPpm) }
}

/** Millionths as people read them. */
function unitsOf(ppm: bigint): number {
  return Number(ppm) / 1_000_000
}
