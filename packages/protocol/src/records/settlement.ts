import { BATCH_FORMAT, KIND_NAMES, PAYOUTS_FORMAT } from '@fairlead/core'
import { z } from 'zod'
import { bytes32, count, json, name, providerId, taskId, u64 } from '../wire/leaves.ts'

/** Names of providers with an amount for each. */
const amounts = z.record(z.string(), u64)

const totals = z.strictObject({
  claims: count.describe('number of claim lines'),
  payouts: count.describe('number of payout lines'),
  gross: u64,
  budget: u64.nullable(),
  paid: u64,
  provider: u64,
  miner: u64,
  fund: u64.describe('with the debits'),
  slashed: u64,
  debits: amounts.describe('by provider: taken from its stake'),
  unstaked: amounts.describe('by provider: stake that it got back'),
  deferred: u64.describe('stays due'),
  carry: u64,
})

/** The closed accounts of an epoch (SETTLE-12). */
export const batch = z
  .strictObject({
    epoch_id: count,
    prev_batch_id: bytes32,
    claims_root: bytes32,
    payouts_root: bytes32,
    totals,
    policy_hash: bytes32,
    audit_seq: count,
    audit_head: bytes32,
  })
  .meta({ id: 'Batch' })

/** A batch in a list. */
export const listedBatch = z.strictObject({ batch_id: bytes32, batch })

const claimFields = {
  claim_key: bytes32,
  task_id: taskId,
  kind: z.enum(KIND_NAMES),
  provider_id: providerId,
  miner_id: name,
  envelope_hash: bytes32,
  nullifier: bytes32,
  block_height: count,
  epoch_id: count,
  units_ppm: u64,
  rate: count,
  q_ppm: count,
  d_ppm: count,
  gross: count,
  split: z.strictObject({ provider: count, miner: count, fund: count }).describe('basis points'),
}

/** A priced claim (SETTLE-2). */
const claimLine = z.strictObject(claimFields).meta({ id: 'ClaimLine' })

/** A payment for a claim (SETTLE-9). */
const payoutLine = z
  .strictObject({
    ...claimFields,
    paid_before: count,
    amount: count,
    provider: count,
    miner: count,
    fund: count,
    slashed: count,
  })
  .meta({ id: 'PayoutLine' })

/** The file of a batch, or a part of its lines (SETTLE-17). */
export const batchFile = z
  .strictObject({
    format: z.literal(BATCH_FORMAT),
    batch_id: bytes32,
    batch,
    policy: json.describe('economics and sla as they were in force at the close; or null'),
    claims: z.array(claimLine),
    payouts: z.array(payoutLine),
  })
  .meta({ id: 'BatchFile' })

/** The file of a provider's payouts, or a part of them (SETTLE-18). */
export const payoutsFile = z
  .strictObject({
    format: z.literal(PAYOUTS_FORMAT),
    batch_id: bytes32,
    batch,
    provider_id: providerId,
    payouts: z.array(
      z.strictObject({
        line: payoutLine,
        siblings: z.array(z.strictObject({ side: z.enum(['left', 'right']), hash: bytes32 })),
      }),
    ),
  })
  .meta({ id: 'PayoutsFile' })

export type BatchRecord = z.output<typeof batch>
export type BatchFile = z.output<typeof batchFile>
export type PayoutsFile = z.output<typeof payoutsFile>
