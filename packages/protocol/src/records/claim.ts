import { z } from 'zod'
import { bytes32, count, leaseId, providerId, schemaVersion, taskId, u64 } from '../wire/leaves.ts'

/** The forms of proofs (PROOF-1). */
export const PROOF_TYPES = ['AI_V1', 'QUANTUM_V1'] as const

/** The provider's own words about its service. */
export const qos = z.strictObject({
  p95_latency_ms: u64,
  availability: z.number().min(0).max(1),
})

/** An accepted proof, on its way to be paid. */
export const proofClaim = z
  .strictObject({
    schema_version: schemaVersion,
    task_id: taskId,
    lease_id: leaseId,
    provider_id: providerId,
    proof_type: z.enum(PROOF_TYPES),
    envelope_hash: bytes32,
    nullifier: bytes32,
    metrics: z.strictObject({
      ai_units: z.number().optional(),
      quantum_units: z.number().optional(),
      traps_ratio: z.number().optional().describe('traps that came out right, of all'),
      qos,
    }),
    block_height: u64,
    proof_idx_in_block: count.optional().describe('with a chain only'),
    tx_hash: bytes32,
    status: z.enum(['PENDING', 'FINAL']),
    finalized_height: u64.nullable().describe('null while it is PENDING'),
  })
  .meta({ id: 'ProofClaim' })

export type ProofClaim = z.output<typeof proofClaim>
