import type { CborMap, CborValue } from '../../encoding/cbor.ts'
import { showU64 } from '../../encoding/u64.ts'
import { invalidParams } from '../../errors.ts'
import type { Batch, Totals } from './batch.ts'
import { fieldsOf, hashIn, type Json, partIn, u64In, wholeIn } from './json-field.ts'

/** The JSON form of a batch (SETTLE-17). */
export function showBatch(batch: Batch): Record<string, unknown> {
  return {
    epoch_id: batch.epochId,
    prev_batch_id: batch.prevBatchId,
    claims_root: batch.claimsRoot,
    payouts_root: batch.payoutsRoot,
    totals: showTotals(batch.totals),
    policy_hash: batch.policyHash,
    audit_seq: batch.auditSeq,
    audit_head: batch.auditHead,
  }
}

/** A batch from its JSON form, or `InvalidParams` naming the field. `showBatch` gives the same form again. */
export function readBatch(json: unknown): Batch {
  const fields = fieldsOf(json, 'batch', BATCH_KEYS)
  return {
    epochId: wholeIn(fields, 'epoch_id'),
    prevBatchId: hashIn(fields, 'prev_batch_id'),
    claimsRoot: hashIn(fields, 'claims_root'),
    payoutsRoot: hashIn(fields, 'payouts_root'),
    totals: partIn(fields, 'totals', totalsIn),
    policyHash: hashIn(fields, 'policy_hash'),
    auditSeq: wholeIn(fields, 'audit_seq'),
    auditHead: hashIn(fields, 'audit_head'),
  }
}

const BATCH_KEYS = [
  'epoch_id',
  'prev_batch_id',
  'claims_root',
  'payouts_root',
  'totals',
  'policy_hash',
  'audit_seq',
  'audit_head',
] as const

/** Every sum of a batch, in the order in which people read them. */
const SUMS = ['gross', 'budget', 'paid', 'provider', 'miner', 'fund', 'slashed'] as const
const LAST_SUMS = ['deferred', 'carry'] as const
const TOTALS_KEYS = ['claims', 'payouts', ...SUMS, 'debits', 'unstaked', ...LAST_SUMS] as const

/** The JSON form of the totals. */
export function showTotals(totals: Totals): Record<(typeof TOTALS_KEYS)[number], CborValue> {
  const { claims, payouts, gross, budget, paid, provider, miner, fund, slashed } = totals
  return {
    claims,
    payouts,
    gross: showU64(gross),
    budget: budget === null ? null : showU64(budget),
    paid: showU64(paid),
    provider: showU64(provider),
    miner: showU64(miner),
    fund: showU64(fund),
    slashed: showU64(slashed),
    debits: showAmounts(totals.debits),
    unstaked: showAmounts(totals.unstaked),
    deferred: showU64(totals.deferred),
    carry: showU64(totals.carry),
  }
}

function totalsIn(json: Json): Totals {
  const fields = fieldsOf(json, 'totals', TOTALS_KEYS)
  return {
    claims: wholeIn(fields, 'claims'),
    payouts: wholeIn(fields, 'payouts'),
    gross: u64In(fields, 'gross'),
    budget: fields['budget'] === null ? null : u64In(fields, 'budget'),
    paid: u64In(fields, 'paid'),
    provider: u64In(fields, 'provider'),
    miner: u64In(fields, 'miner'),
    fund: u64In(fields, 'fund'),
    slashed: u64In(fields, 'slashed'),
    debits: amountsIn(fields, 'debits'),
    unstaked: amountsIn(fields, 'unstaked'),
    deferred: u64In(fields, 'deferred'),
    carry: u64In(fields, 'carry'),
  }
}

type Amounts = Readonly<Record<string, bigint>>

function showAmounts(amounts: Amounts): CborMap {
  const entries = Object.entries(amounts).map(([name, amount]) => [name, showU64(amount)])
  return Object.fromEntries(entries)
}

function amountsIn(json: Json, field: string): Amounts {
  return partIn(json, field, (part) =>
    Object.fromEntries(Object.keys(part).map((name) => [wellFormed(name), u64In(part, name)])),
  )
}

function wellFormed(name: string): string {
  if (name.isWellFormed()) return name
  throw invalidParams('name', 'well-formed text')
}
