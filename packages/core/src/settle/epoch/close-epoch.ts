import { compareAscii } from '../../encoding/bytes.ts'
import { type ExactInt, exactInt, plus } from '../../encoding/exact-int.ts'
import { compareText } from '../../encoding/text.ts'
import type { Economics } from '../../policy/economics-policy.ts'
import {
  FUND,
  ISSUANCE,
  minerAccount,
  type Staked,
  stakeAccount,
  type Transfer,
  unstakingAccount,
} from '../ledger/account.ts'
import { changeStake, type Slash, type StakeChange, slashable } from '../ledger/stake-change.ts'
import { type Batch, batchIdOf, NO_BATCH, type Totals } from './batch.ts'
import { type Budgeted, type DueLine, payDue } from './budget.ts'
import { appendClaimLine, appendPayoutLine, type ClaimLine, type PayoutLine } from './line.ts'
import { type MerkleTree, merkleRoot, merkleTree } from './merkle.ts'
import { splitAmount } from './price.ts'

/** Everything that a close depends on, as plain data: it may be computed in another thread (SETTLE-15). */
export interface CloseInput {
  readonly epochId: number
  readonly nowMs: number
  readonly economics: Economics
  readonly policyHash: string
  /** The claims up to this epoch that no close has taken. */
  readonly lines: readonly ClaimLine[]
  /** The lines that earlier closes left due. */
  readonly due: readonly DueLine[]
  /** At most one for each provider. */
  readonly slashes: readonly Slash[]
  /** The stakes of all providers that are slashed or have stake on its way out. */
  readonly stakes: readonly (Staked & { readonly providerId: string })[]
  /** The newest batch; null before the first one. */
  readonly previous: PreviousBatch | null
  readonly auditSeq: number
  readonly auditHead: string
}

export interface PreviousBatch {
  readonly batchId: string
  readonly epochId: number
  readonly carry: bigint
}

/** A closed epoch as plain data. `Epochs.apply` brings it into the books. */
export interface EpochClose {
  readonly epochId: number
  /** Null if nothing happened that a batch could tell (SETTLE-11). */
  readonly batch: Batch | null
  readonly batchId: string | null
  /** By claim key, as the roots have them. */
  readonly claims: readonly ClaimLine[]
  readonly payouts: readonly PayoutLine[]
  readonly payoutTree: MerkleTree
  /** The lines that stay due, in their order. */
  readonly due: readonly DueLine[]
  /** One for each pair of accounts, by (from, to) as UTF-8 bytes. */
  readonly transfers: readonly Transfer[]
  /** By provider id. */
  readonly stakes: readonly StakeChange[]
  /** By provider id: the due that is paid or dropped. It is a sum, so that `apply` need not look at each line again. */
  readonly cleared: readonly (readonly [providerId: string, amount: bigint])[]
}

/** Closes an epoch. It is a pure function: replicas compute the same batch from the same input (SETTLE-15). */
export function closeEpoch(input: CloseInput): EpochClose {
  const { epochId, nowMs, previous } = input
  const claims = input.lines.toSorted(byClaimKey)
  const carried = previous?.epochId === epochId - 1 ? previous.carry : 0n
  const paid = payDue(dueInOrder(claims, input.due), input.economics, carried)

  const stakes = new Map(input.stakes.map((one) => [one.providerId, one]))
  const slashes = slashesOf(input.slashes, stakes)
  const { payouts, debits } = payoutLines(paid, slashes)
  const changes = [...stakes.values()]
    .sort((a, b) => compareText(a.providerId, b.providerId))
    .map((one) => {
      const debit = debits.get(one.providerId) ?? 0n
      return changeStake(one.providerId, one, { debit, nowMs })
    })

  const isEmpty = claims.length === 0 && payouts.length === 0 && slashes.size === 0
  const hasMatured = changes.some(({ matured }) => matured > 0n)
  const cleared = clearedOf(claims, input.due, paid.due)
  const common = { epochId, claims, payouts, due: paid.due, stakes: changes, cleared }
  const transfers = transfersOf(payouts, changes)
  if (isEmpty && !hasMatured) {
    return { ...common, transfers, batch: null, batchId: null, payoutTree: { levels: [] } }
  }
  const claimTree = merkleTree(claims, appendClaimLine)
  const payoutTree = merkleTree(payouts, appendPayoutLine)
  const batch: Batch = {
    epochId,
    prevBatchId: previous?.batchId ?? NO_BATCH,
    claimsRoot: merkleRoot(claimTree),
    payoutsRoot: merkleRoot(payoutTree),
    totals: totalsOf(claims, payouts, paid, { slashes, debits, changes }),
    policyHash: input.policyHash,
    auditSeq: input.auditSeq,
    auditHead: input.auditHead,
  }
  return { ...common, transfers, batch, batchId: batchIdOf(batch), payoutTree }
}

function byClaimKey(a: ClaimLine, b: ClaimLine): number {
  return compareAscii(a.claimKey, b.claimKey)
}

/** New lines and old ones together, by epoch and claim key (SETTLE-5). */
function dueInOrder(claims: readonly ClaimLine[], left: readonly DueLine[]): DueLine[] {
  const due = left.slice()
  for (const line of claims) if (line.gross > 0) due.push({ line, due: line.gross, paidBefore: 0 })
  return due.sort((a, b) => a.line.epochId - b.line.epochId || byClaimKey(a.line, b.line))
}

/** By provider, each no more than what is at stake; without those that take nothing. */
function slashesOf(
  asked: readonly Slash[],
  stakes: ReadonlyMap<string, Staked>,
): Map<string, bigint> {
  const slashes = new Map<string, bigint>()
  for (const { providerId, amount } of asked) {
    const staked = stakes.get(providerId)
    const taken = staked === undefined ? 0n : slashable(amount, staked)
    if (taken > 0n) slashes.set(providerId, taken)
  }
  return slashes
}

/** By claim key; a slash comes off the provider's shares line by line, and the rest is a debit (SETTLE-9). */
function payoutLines(
  { payments }: Budgeted,
  slashes: ReadonlyMap<string, bigint>,
): { payouts: PayoutLine[]; debits: Map<string, bigint> } {
  const debits = new Map(slashes)
  const ordered = payments.toSorted((a, b) => byClaimKey(a.line, b.line))
  const payouts = ordered.map(({ line, paidBefore, amount }): PayoutLine => {
    const shares = splitAmount(amount, line.split)
    let slashed = 0
    const owed = debits.get(line.providerId)
    if (owed !== undefined) {
      slashed = owed < BigInt(shares.provider) ? Number(owed) : shares.provider
      debits.set(line.providerId, owed - BigInt(slashed))
    }
    return {
      claim: line,
      paidBefore,
      amount,
      provider: shares.provider - slashed,
      miner: shares.miner,
      fund: shares.fund + slashed,
      slashed,
    }
  })
  for (const [providerId, debit] of debits) if (debit === 0n) debits.delete(providerId)
  return { payouts, debits }
}

/** The new gross and the old due of each provider, less what stays due. */
function clearedOf(
  claims: readonly ClaimLine[],
  before: readonly DueLine[],
  after: readonly DueLine[],
): EpochClose['cleared'] {
  const sums = new Map<string, ExactInt>()
  const add = ({ providerId }: ClaimLine, amount: number): void => {
    sums.set(providerId, plus(sums.get(providerId) ?? 0, amount))
  }
  for (const line of claims) add(line, line.gross)
  for (const { line, due } of before) add(line, due)
  for (const { line, due } of after) add(line, -due)
  return [...sums]
    .flatMap(([providerId, sum]): [string, bigint][] =>
      sum === 0 ? [] : [[providerId, BigInt(sum)]],
    )
    .sort(([a], [b]) => compareText(a, b))
}

/** One transfer for each pair of accounts (LEDGER-2). */
function transfersOf(
  payouts: readonly PayoutLine[],
  changes: readonly StakeChange[],
): readonly Transfer[] {
  const sums = new Map<string, Map<string, ExactInt>>()
  const add = (from: string, to: string, amount: ExactInt): void => {
    if (amount === 0) return
    let row = sums.get(from)
    if (row === undefined) {
      row = new Map()
      sums.set(from, row)
    }
    row.set(to, plus(row.get(to) ?? 0, amount))
  }
  for (const { claim, provider, miner, fund, slashed } of payouts) {
    add(ISSUANCE, claim.providerId, provider + slashed)
    add(ISSUANCE, minerAccount(claim.minerId), miner)
    add(ISSUANCE, FUND, fund - slashed)
    add(claim.providerId, FUND, slashed)
  }
  for (const { providerId, debits, matured } of changes) {
    add(stakeAccount(providerId), FUND, exactInt(debits.stake))
    add(unstakingAccount(providerId), FUND, exactInt(debits.unstaking))
    add(unstakingAccount(providerId), providerId, exactInt(matured))
  }
  return [...sums]
    .flatMap(([from, row]) => [...row].map(([to, sum]) => ({ from, to, amount: BigInt(sum) })))
    .sort((a, b) => compareText(a.from, b.from) || compareText(a.to, b.to))
}

function totalsOf(
  claims: readonly ClaimLine[],
  payouts: readonly PayoutLine[],
  { budget, paid, due, carry }: Budgeted,
  {
    slashes,
    debits,
    changes,
  }: {
    readonly slashes: ReadonlyMap<string, bigint>
    readonly debits: ReadonlyMap<string, bigint>
    readonly changes: readonly StakeChange[]
  },
): Totals {
  const matured = changes.filter((change) => change.matured > 0n)
  return {
    claims: claims.length,
    payouts: payouts.length,
    gross: sumOf(claims, ({ gross }) => gross),
    budget,
    paid,
    provider: sumOf(payouts, ({ provider }) => provider),
    miner: sumOf(payouts, ({ miner }) => miner),
    fund: sumOf(payouts, ({ fund }) => fund) + sumOf([...debits.values()], exactInt),
    slashed: sumOf([...slashes.values()], exactInt),
    debits: Object.fromEntries(debits),
    unstaked: Object.fromEntries(matured.map((change) => [change.providerId, change.matured])),
    deferred: sumOf(due, (one) => one.due),
    carry,
  }
}

function sumOf<Item>(items: readonly Item[], amountOf: (item: Item) => ExactInt): bigint {
  return BigInt(items.reduce((sum: ExactInt, item) => plus(sum, amountOf(item)), 0))
}
