import { fromHex } from '../../encoding/bytes.ts'
import { claimKey, type JobId } from '../../encoding/ids.ts'
import { BPS, CLAIM_MAX } from '../../policy/economics-policy.ts'
import { policyHash } from '../../policy/fund-hash.ts'
import { snakeCase } from '../../policy/settings-table.ts'
import { NO_BATCH, type Totals } from './batch.ts'
import type { PayoutProof, SettledBatch } from './batch-file.ts'
import type { ClaimLine, PayoutLine } from './line.ts'
import { splitAmount } from './price.ts'
import { batchProblem, brokenBatch, type ListedBatch, verifyPayoutLine } from './verify-batch.ts'

/** The first place in a batch that is wrong, and the value that follows from the rest. */
export interface BatchFault {
  /** As the file names it: `payouts[3].miner`. */
  readonly field: string
  readonly expected: string
  readonly found: string
}

/** The batch before the one that is checked, as far as it is known. */
export type EarlierBatch = Pick<SettledBatch, 'batchId' | 'batch'>

/**
 * The first fault of a batch by its own lines and its policy, and by the batch before it, if that is known (SETTLE-19).
 * Null if all of it holds.
 */
export function batchFault(settled: SettledBatch, earlier: EarlierBatch | null): BatchFault | null {
  return (
    linkFault(settled, earlier) ??
    contentFault(settled) ??
    orderFault('claims', settled.claims) ??
    firstFault(settled.claims, (line, i) => claimFault(line, `claims[${i}]`, settled, earlier)) ??
    nullifierFault(settled.claims) ??
    orderFault('payouts', claimsOf(settled.payouts)) ??
    payoutsFault(settled, earlier) ??
    totalsFault(settled, earlier) ??
    policyFault(settled)
  )
}

/** The first fault of a provider's payouts in a batch; null if each line is in the batch as it is (SETTLE-18). */
export function payoutProofFault(
  proof: PayoutProof,
  earlier: EarlierBatch | null,
): BatchFault | null {
  const { batch, providerId, payouts } = proof
  const lines = payouts.map(({ line }) => line)
  return (
    linkFault(proof, earlier) ??
    idFault(proof) ??
    orderFault('payouts', claimsOf(lines)) ??
    firstFault(payouts, ({ line, siblings }, i) => {
      const field = `payouts[${i}]`
      const owner = line.claim.providerId
      if (owner !== providerId) return fault(`${field}.provider_id`, providerId, owner)
      if (!verifyPayoutLine(line, siblings, batch.payoutsRoot)) {
        return fault(field, 'a line that leads to payouts_root', 'one that does not')
      }
      return payoutFault(line, field)
    })
  )
}

export function fault(field: string, expected: unknown, found: unknown): BatchFault {
  return { field, expected: String(expected), found: String(found) }
}

/** A batch follows the one before it (SETTLE-12). */
function linkFault(listed: ListedBatch, earlier: EarlierBatch | null): BatchFault | null {
  if (earlier === null) return null
  const { epochId, prevBatchId } = listed.batch
  const least = earlier.batch.epochId + 1
  return (
    differs('batch.prev_batch_id', earlier.batchId, prevBatchId) ??
    (epochId < least ? fault('batch.epoch_id', `at least ${least}`, epochId) : null)
  )
}

function idFault(listed: ListedBatch): BatchFault | null {
  if (brokenBatch([listed], listed.batch.prevBatchId) === null) return null
  return fault('batch_id', 'the id of the batch in this file', listed.batchId)
}

/** The id, the roots and the numbers of lines (SETTLE-14). */
function contentFault(settled: SettledBatch): BatchFault | null {
  const { batchId, batch, claims, payouts } = settled
  const problem = batchProblem(settled)
  if (problem === 'batch_id') {
    return fault('batch_id', 'the id of the batch in this file', batchId)
  }
  if (problem === 'claims_root') {
    return fault('batch.claims_root', 'the root of the claims in this file', batch.claimsRoot)
  }
  if (problem === 'payouts_root') {
    return fault('batch.payouts_root', 'the root of the payouts in this file', batch.payoutsRoot)
  }
  // A payout whose parts do not add up is left to `payoutFault`, which names the part.
  return (
    differs('batch.totals.claims', claims.length, batch.totals.claims) ??
    differs('batch.totals.payouts', payouts.length, batch.totals.payouts)
  )
}

/** Lines stand by claim key, each once (SETTLE-13). */
function orderFault(list: string, lines: readonly ClaimLine[]): BatchFault | null {
  return firstFault(lines, ({ claimKey: key }, i) => {
    const before = lines[i - 1]?.claimKey
    if (before === undefined || before < key) return null
    return fault(`${list}[${i}].claim_key`, `one above ${before}`, key)
  })
}

function claimFault(
  line: ClaimLine,
  field: string,
  { batch }: SettledBatch,
  earlier: EarlierBatch | null,
): BatchFault | null {
  const { epochId } = line
  const least = earlier === null ? 0 : earlier.batch.epochId + 1
  if (epochId > batch.epochId || epochId < least) {
    return fault(`${field}.epoch_id`, `${least} to ${batch.epochId}`, epochId)
  }
  return pricedFault(line, field)
}

/** The key and the price of a claim follow from its own fields (SETTLE-1). A cap can make it cheaper. */
function pricedFault(line: ClaimLine, field: string): BatchFault | null {
  const { taskId, blockHeight, split, gross } = line
  const nullifier = fromHex(line.nullifier) as Uint8Array
  const key = claimKey({ taskId: taskId as JobId, height: blockHeight, nullifier })
  if (key !== line.claimKey) return fault(`${field}.claim_key`, key, line.claimKey)
  const factors = [line.rate, line.qPpm, line.dPpm].map(BigInt)
  const worth = factors.reduce((product, each) => product * each, line.unitsPpm) / 10n ** 18n
  const most = worth < CLAIM_MAX ? worth : BigInt(CLAIM_MAX)
  if (gross > most) return fault(`${field}.gross`, `at most ${most}`, gross)
  return differs(`${field}.split`, BPS, split.provider + split.miner + split.fund)
}

/** A piece of work is claimed once. */
function nullifierFault(claims: readonly ClaimLine[]): BatchFault | null {
  const seen = new Set<string>()
  return firstFault(claims, ({ nullifier }, i) => {
    if (seen.size === seen.add(nullifier).size) {
      return fault(`claims[${i}].nullifier`, 'one of its own', nullifier)
    }
    return null
  })
}

/** A payout is for a claim of this batch as it stands there, or for an older one. */
function payoutsFault(
  { batch, claims, payouts }: SettledBatch,
  earlier: EarlierBatch | null,
): BatchFault | null {
  const oldMax = earlier?.batch.epochId ?? batch.epochId - 1
  const claimed = new Map(claims.map((line) => [line.claimKey, line]))
  return firstFault(payouts, (line, i) => {
    const field = `payouts[${i}]`
    const { claim, paidBefore } = line
    const own = claimed.get(claim.claimKey)
    if (own !== undefined) {
      const odd = differs(`${field}.paid_before`, 0, paidBefore) ?? claimDiffers(claim, own, field)
      if (odd !== null) return odd
    } else if (claim.epochId > oldMax) {
      return fault(`${field}.claim_key`, 'that of a claim in this batch', claim.claimKey)
    } else {
      const odd = pricedFault(claim, field)
      if (odd !== null) return odd
    }
    return payoutFault(line, field)
  })
}

function claimDiffers(claim: ClaimLine, own: ClaimLine, field: string): BatchFault | null {
  for (const key of Object.keys(own) as (keyof ClaimLine)[]) {
    if (key === 'split') {
      const odd = (['provider', 'miner', 'fund'] as const).find(
        (p) => own.split[p] !== claim.split[p],
      )
      if (odd !== undefined) return fault(`${field}.split.${odd}`, own.split[odd], claim.split[odd])
    } else if (own[key] !== claim[key]) {
      return fault(`${field}.${snakeCase(key)}`, own[key], claim[key])
    }
  }
  return null
}

/** The parts of a payout follow from its amount, its split and its slash (SETTLE-3, SETTLE-9). */
function payoutFault(line: PayoutLine, field: string): BatchFault | null {
  const { claim, amount, paidBefore, slashed } = line
  const most = claim.gross - paidBefore
  if (amount < 1 || amount > most) return fault(`${field}.amount`, `1 to ${most}`, amount)
  const bps = claim.split.provider + claim.split.miner + claim.split.fund
  if (bps !== BPS) return fault(`${field}.split`, BPS, bps)
  const shares = splitAmount(amount, claim.split)
  if (slashed > shares.provider) {
    return fault(`${field}.slashed`, `at most ${shares.provider}`, slashed)
  }
  return (
    differs(`${field}.provider`, shares.provider - slashed, line.provider) ??
    differs(`${field}.miner`, shares.miner, line.miner) ??
    differs(`${field}.fund`, shares.fund + slashed, line.fund)
  )
}

/** The sums of the lines, with the debits (SETTLE-9). */
function totalsFault(
  { batch, claims, payouts }: SettledBatch,
  earlier: EarlierBatch | null,
): BatchFault | null {
  const { totals, prevBatchId } = batch
  const of = (name: 'amount' | 'provider' | 'miner' | 'fund' | 'slashed') =>
    payouts.reduce((sum, line) => sum + BigInt(line[name]), 0n)
  const debits = Object.values(totals.debits).reduce((sum, debit) => sum + debit, 0n)
  const sums: Partial<Totals> = {
    gross: claims.reduce((sum, { gross }) => sum + BigInt(gross), 0n),
    paid: of('amount'),
    provider: of('provider'),
    miner: of('miner'),
    fund: of('fund') + debits,
    slashed: of('slashed') + debits,
  }
  for (const [name, sum] of Object.entries(sums)) {
    const odd = differs(`batch.totals.${name}`, sum, totals[name as keyof Totals])
    if (odd !== null) return odd
  }
  for (const map of ['debits', 'unstaked'] as const) {
    const empty = Object.entries(totals[map]).find(([, amount]) => amount === 0n)
    if (empty !== undefined) return fault(`batch.totals.${map}.${empty[0]}`, 'at least 1', 0)
  }
  const { budget, paid, carry, deferred } = totals
  const unused = budget === null ? 0n : budget - paid
  if (unused < 0n) return fault('batch.totals.paid', `at most the budget of ${budget}`, paid)
  if (carry > unused) return fault('batch.totals.carry', `at most ${unused}`, carry)
  const isEmpty = claims.length === 0 && payouts.length === 0 && totals.slashed === 0n
  if (isEmpty && Object.keys(totals.unstaked).length === 0) {
    return fault('batch', 'none, because nothing happened in its epoch', 'one')
  }
  // Nothing comes to what is due but the claims of this batch.
  const before = earlier?.batch.totals.deferred ?? (prevBatchId === NO_BATCH ? 0n : null)
  if (before === null) return null
  const dueMax = before + totals.gross - paid
  return deferred > dueMax ? fault('batch.totals.deferred', `at most ${dueMax}`, deferred) : null
}

function policyFault({ batch, policy }: SettledBatch): BatchFault | null {
  return policy === null ? null : differs('batch.policy_hash', policyHash(policy), batch.policyHash)
}

function claimsOf(payouts: readonly PayoutLine[]): ClaimLine[] {
  return payouts.map(({ claim }) => claim)
}

function differs(field: string, expected: unknown, found: unknown): BatchFault | null {
  return expected === found ? null : fault(field, expected, found)
}

function firstFault<Item>(
  items: readonly Item[],
  faultOf: (item: Item, i: number) => BatchFault | null,
): BatchFault | null {
  for (const [i, item] of items.entries()) {
    const odd = faultOf(item, i)
    if (odd !== null) return odd
  }
  return null
}
