import { appendCborMap, CborHex, type CborValue } from '../../encoding/cbor.ts'
import { showU64 } from '../../encoding/u64.ts'
import { fieldsOf, hashIn, type Json, partIn, textIn, u64In, wholeIn } from './json-field.ts'
import type { AppendLine } from './merkle.ts'
import type { SplitBps } from './price.ts'

/** A priced claim, as a batch lists it (SETTLE-2). */
export interface ClaimLine {
  readonly claimKey: string
  readonly taskId: string
  readonly kind: string
  readonly providerId: string
  readonly minerId: string
  readonly envelopeHash: string
  readonly nullifier: string
  readonly blockHeight: number
  /** The epoch in which it became FINAL. */
  readonly epochId: number
  readonly unitsPpm: bigint
  readonly rate: number
  readonly qPpm: number
  readonly dPpm: number
  readonly gross: number
  readonly split: SplitBps
}

/** A payment for a claim; an instalment, if the budget did not suffice for all of it (SETTLE-9). */
export interface PayoutLine {
  readonly claim: ClaimLine
  /** Paid by the instalments before. */
  readonly paidBefore: number
  readonly amount: number
  /** Less `slashed`. */
  readonly provider: number
  readonly miner: number
  /** With `slashed`. */
  readonly fund: number
  readonly slashed: number
}

/** Writes the bytes that the leaf of a claim line covers; see `appendCborMap`. */
export const appendClaimLine: AppendLine<ClaimLine> = (line, buffer, at) =>
  appendCborMap(CLAIM_KEYS, claimMap(line), buffer, at)

export const appendPayoutLine: AppendLine<PayoutLine> = (line, buffer, at) =>
  appendCborMap(PAYOUT_KEYS, payoutMap(line), buffer, at)

/** A claim line from its JSON form, or `InvalidParams` naming the field (SETTLE-17). */
export function readClaimLine(json: unknown): ClaimLine {
  return claimIn(fieldsOf(json, 'line', CLAIM_KEYS))
}

/** A payout line from its JSON form, or `InvalidParams` naming the field (SETTLE-17). */
export function readPayoutLine(json: unknown): PayoutLine {
  const fields = fieldsOf(json, 'line', PAYOUT_KEYS)
  return {
    claim: claimIn(fields),
    paidBefore: wholeIn(fields, 'paid_before'),
    amount: wholeIn(fields, 'amount'),
    provider: wholeIn(fields, 'provider'),
    miner: wholeIn(fields, 'miner'),
    fund: wholeIn(fields, 'fund'),
    slashed: wholeIn(fields, 'slashed'),
  }
}

function claimIn(fields: Json): ClaimLine {
  return {
    claimKey: hashIn(fields, 'claim_key'),
    taskId: hashIn(fields, 'task_id'),
    kind: textIn(fields, 'kind'),
    providerId: textIn(fields, 'provider_id'),
    minerId: textIn(fields, 'miner_id'),
    envelopeHash: hashIn(fields, 'envelope_hash'),
    nullifier: hashIn(fields, 'nullifier'),
    blockHeight: wholeIn(fields, 'block_height'),
    epochId: wholeIn(fields, 'epoch_id'),
    unitsPpm: u64In(fields, 'units_ppm'),
    rate: wholeIn(fields, 'rate'),
    qPpm: wholeIn(fields, 'q_ppm'),
    dPpm: wholeIn(fields, 'd_ppm'),
    gross: wholeIn(fields, 'gross'),
    split: partIn(fields, 'split', splitIn),
  }
}

function splitIn(json: Json): SplitBps {
  const fields = fieldsOf(json, 'split', SPLIT_KEYS)
  return {
    provider: wholeIn(fields, 'provider'),
    miner: wholeIn(fields, 'miner'),
    fund: wholeIn(fields, 'fund'),
  }
}

/** The JSON form of a claim line. */
export function showClaimLine(line: ClaimLine): Record<string, unknown> {
  const entries = Object.entries(claimMap(line)).map(([key, value]) => {
    if (value instanceof CborHex) return [key, value.hex]
    return [key, typeof value === 'bigint' ? showU64(value) : value]
  })
  return Object.fromEntries(entries)
}

/** The JSON form of a payout line. `readPayoutLine` gives the same line again. */
export function showPayoutLine(line: PayoutLine): Record<string, unknown> {
  const { paidBefore, amount, provider, miner, fund, slashed } = line
  const claim = showClaimLine(line.claim)
  return { ...claim, paid_before: paidBefore, amount, provider, miner, fund, slashed }
}

/** In canonical order: the shorter key first. */
const CLAIM_KEYS = [
  'kind',
  'rate',
  'd_ppm',
  'gross',
  'q_ppm',
  'split',
  'task_id',
  'epoch_id',
  'miner_id',
  'claim_key',
  'nullifier',
  'units_ppm',
  'provider_id',
  'block_height',
  'envelope_hash',
] as const

const SPLIT_KEYS = ['fund', 'miner', 'provider'] as const

const PAYOUT_KEYS = [
  'fund',
  'kind',
  'rate',
  'd_ppm',
  'gross',
  'miner',
  'q_ppm',
  'split',
  'amount',
  'slashed',
  'task_id',
  'epoch_id',
  'miner_id',
  'provider',
  'claim_key',
  'nullifier',
  'units_ppm',
  'paid_before',
  'provider_id',
  'block_height',
  'envelope_hash',
] as const

function claimMap(line: ClaimLine): { [Key in (typeof CLAIM_KEYS)[number]]: CborValue } {
  const { provider, miner, fund } = line.split
  return {
    kind: line.kind,
    rate: line.rate,
    d_ppm: line.dPpm,
    gross: line.gross,
    q_ppm: line.qPpm,
    split: { fund, miner, provider },
    task_id: new CborHex(line.taskId),
    epoch_id: line.epochId,
    miner_id: line.minerId,
    claim_key: new CborHex(line.claimKey),
    nullifier: new CborHex(line.nullifier),
    units_ppm: line.unitsPpm,
    provider_id: line.providerId,
    block_height: line.blockHeight,
    envelope_hash: new CborHex(line.envelopeHash),
  }
}

function payoutMap(line: PayoutLine): { [Key in (typeof PAYOUT_KEYS)[number]]: CborValue } {
  const { claim } = line
  const { provider, miner, fund } = claim.split
  return {
    fund: line.fund,
    kind: claim.kind,
    rate: claim.rate,
    d_ppm: claim.dPpm,
    gross: claim.gross,
    miner: line.miner,
    q_ppm: claim.qPpm,
    split: { fund, miner, provider },
    amount: line.amount,
    slashed: line.slashed,
    task_id: new CborHex(claim.taskId),
    epoch_id: claim.epochId,
    miner_id: claim.minerId,
    provider: line.provider,
    claim_key: new CborHex(claim.claimKey),
    nullifier: new CborHex(claim.nullifier),
    units_ppm: claim.unitsPpm,
    paid_before: line.paidBefore,
    provider_id: claim.providerId,
    block_height: claim.blockHeight,
    envelope_hash: new CborHex(claim.envelopeHash),
  }
}
