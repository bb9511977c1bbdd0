import { createHash } from 'node:crypto'
import {
  type CborValue,
  encodeCbor,
  type Policy,
  type SettledBatch,
  taggedHashHex,
} from '@fairlead/core'
import { firstDifference } from '../../checks/first-difference.ts'
import { broken } from '../../violation.ts'
import type { JobEntry } from '../book.ts'
import type { Money } from './money.ts'
import type { ClaimEntry } from './proving.ts'
import type { ServiceRecord } from './service.ts'

type Economics = Policy['economics']
type PaidKind = 'ai' | 'quantum'
const NO_HASH = `0x${'0'.repeat(64)}`

/** A priced claim (SETTLE-1, SETTLE-2), by the names of a batch. */
export interface Line {
  readonly job: JobEntry
  readonly providerId: string
  readonly claim: ClaimEntry
  readonly epochId: number
  readonly rate: number
  readonly qPpm: number
  readonly dPpm: number
  readonly gross: number
  readonly split: Economics['splitBps']['ai']
}

interface Due {
  readonly line: Line
  readonly due: number
  readonly paidBefore: number
}

/** A close that was begun. */
interface Begun {
  readonly epochId: number
  readonly at: number
  readonly economics: Economics
  readonly slashes: ReadonlyMap<string, bigint>
  /** Of the slashed, when it began. */
  readonly stakes: ReadonlyMap<string, bigint>
  readonly auditSeq: number
  readonly auditHead: string
}

interface Previous {
  readonly batchId: string
  readonly epochId: number
  readonly carry: bigint
}

/** Prices, budgets, slashes and batches once more (SETTLE-1 to SETTLE-14). */
export class Closes {
  readonly #money: Money
  lines: Line[] = []
  due: readonly Due[] = []
  lastClosed: number | null = null
  previous: Previous | null = null
  begun: Begun | null = null
  /** The ids of all batches, by epoch. */
  readonly batches = new Map<number, string>()
  /** The epochs in which something happened that no close has looked at (SETTLE-22). */
  active: readonly number[] = []
  hasClaims = false

  constructor(money: Money) {
    this.#money = money
  }

  /** A claim is FINAL. Its own outcome is not counted yet. */
  price(claim: ClaimEntry, at: number, policy: Policy, service: ServiceRecord): Line {
    const { facts } = claim.job
    const kind = facts.kind as PaidKind
    const providerId = claim.job.proving?.lease.provider.id ?? ''
    const { baseRate, modelRate, qPpm: parts, depth, maxPerClaim, splitBps } = policy.economics
    const rate = (kind === 'ai' ? modelRate[facts.model ?? ''] : undefined) ?? baseRate[kind]
    const qPpm = parts[service.band(providerId, facts.kind, policy)]
    const row = depth.find(({ max }) => max === null || facts.depthHint <= max)
    const dPpm = kind === 'ai' ? 1_000_000 : (row?.dPpm ?? 0)
    const worth = (claim.unitsPpm * BigInt(rate) * BigInt(qPpm) * BigInt(dPpm)) / 10n ** 18n
    const gross = Number(worth > BigInt(maxPerClaim) ? BigInt(maxPerClaim) : worth)
    const epochId = Math.floor(at / (1_000 * policy.queue.quotas.epochSecs))
    const split = splitBps[kind]
    const line = { job: claim.job, providerId, claim, epochId, rate, qPpm, dPpm, gross, split }
    this.lines.push(line)
    this.hasClaims = true
    this.note(epochId)
    return line
  }

  /** Something happened in this epoch. */
  note(epochId: number): void {
    this.active = [...new Set([...this.active, epochId])].sort((a, b) => a - b)
  }

  begin(begun: Begun): void {
    const { epochId } = begun
    if (this.begun !== null) broken('settlements', `epoch ${epochId} is closed during another`)
    if (this.lastClosed !== null && epochId <= this.lastClosed)
      broken('settlements', `epoch ${epochId} is closed after ${this.lastClosed}`)
    this.begun = begun
  }

  /** Moves the money, and says what the batch must be; null if there is none. */
  settle(epochId: number): SettledBatch['batch'] | null {
    const { begun } = this
    if (begun?.epochId !== epochId) broken('settlements', `epoch ${epochId} was not being closed`)
    const claims = byKey(this.lines.filter((line) => line.epochId <= epochId))
    const carried = this.previous?.epochId === epochId - 1 ? this.previous.carry : 0n
    const paid = this.#pay(claims, begun.economics, carried)
    const { payouts, debits } = this.#payOut(paid.amounts, begun)
    for (const [providerId, debit] of debits) {
      this.#money.debit(providerId, debit, begun.stakes.get(providerId) ?? 0n)
    }
    const unstaked = this.#money.mature(begun.at)
    this.lines = this.lines.filter((line) => line.epochId > epochId)
    this.due = paid.rest
    this.lastClosed = epochId
    this.active = this.active.filter((epoch) => epoch > epochId)
    this.begun = null
    const slashed = sum([...begun.slashes.values()])
    if (claims.length + payouts.length === 0 && slashed === 0n && unstaked.size === 0) return null
    const totals = {
      claims: claims.length,
      payouts: payouts.length,
      gross: sum(claims.map(({ gross }) => BigInt(gross))),
      budget: paid.budget,
      paid: paid.paid,
      provider: sum(payouts.map(({ provider }) => BigInt(provider))),
      miner: sum(payouts.map(({ miner }) => BigInt(miner))),
      fund: sum(payouts.map(({ fund }) => BigInt(fund))) + sum([...debits.values()]),
      slashed,
      debits: Object.fromEntries(debits),
      unstaked: Object.fromEntries(unstaked),
      deferred: sum(paid.rest.map(({ due }) => BigInt(due))),
      carry: paid.carry,
    }
    const batch = {
      epochId,
      prevBatchId: this.previous?.batchId ?? NO_HASH,
      claimsRoot: rootOf(claims.map(lineMap)),
      payoutsRoot: rootOf(
        payouts.map(({ line, ...amounts }) => {
          const { paidBefore: paid_before, ...rest } = amounts
          return { ...lineMap(line), paid_before, ...rest }
        }),
      ),
      totals,
      policyHash: '',
      auditSeq: begun.auditSeq,
      auditHead: begun.auditHead,
    }
    return batch
  }

  /** The stored batch is the one that is due, by its id too. */
  compare(due: SettledBatch['batch'], found: SettledBatch): void {
    const { policyHash } = found.batch
    const batch = { ...due, policyHash }
    const difference = firstDifference(found.batch, batch)
    const { epochId } = batch
    if (difference !== null)
      broken(
        'settlements',
        `the batch of epoch ${epochId} is not the one that is due: ${difference}`,
      )
    const { totals } = batch
    const batchId = taggedHashHex(
      'AICF|batch',
      encodeCbor({
        epoch_id: epochId,
        prev_batch_id: bytes(batch.prevBatchId),
        claims_root: bytes(batch.claimsRoot),
        payouts_root: bytes(batch.payoutsRoot),
        totals: totals as unknown as CborValue,
        policy_hash: bytes(policyHash),
        audit_seq: batch.auditSeq,
        audit_head: bytes(batch.auditHead),
      }),
    )
    if (found.batchId !== batchId)
      broken('settlements', `epoch ${epochId} has the batch ${found.batchId}, not ${batchId}`)
    this.previous = { batchId, epochId, carry: totals.carry }
    this.batches.set(epochId, batchId)
  }

  /** SETTLE-5 to SETTLE-8. */
  #pay(claims: readonly Line[], { gammaFund, cap, carryPpm }: Economics, carried: bigint) {
    const fresh = claims.map((line): Due => ({ line, due: line.gross, paidBefore: 0 }))
    const all = [...this.due, ...fresh.filter(({ due }) => due > 0)].sort(
      (a, b) => a.line.epochId - b.line.epochId || compareKeys(a.line, b.line),
    )
    const asked = sum(all.map(({ due }) => BigInt(due)))
    const budget = gammaFund === null ? null : least(gammaFund + carried, 10n ** 18n)
    const isShort = budget !== null && asked > budget
    let left = budget ?? asked
    const amounts: { readonly one: Due; readonly amount: number }[] = []
    const rest: Due[] = []
    let paid = 0n
    for (const one of all) {
      const due = BigInt(one.due)
      const amount = !isShort
        ? due
        : cap === 'scale'
          ? (due * (budget ?? 0n)) / asked
          : least(due, left)
      left -= amount
      paid += amount
      if (amount > 0n) amounts.push({ one, amount: Number(amount) })
      if (!isShort || cap === 'scale' || amount === due) continue
      const paidBefore = one.paidBefore + Number(amount)
      rest.push({ line: one.line, due: Number(due - amount), paidBefore })
    }
    const carry = budget === null ? 0n : ((budget - paid) * BigInt(carryPpm)) / 1_000_000n
    return { budget, amounts, rest, paid, carry }
  }

  /** SETTLE-3, SETTLE-9. */
  #payOut(amounts: readonly { readonly one: Due; readonly amount: number }[], { slashes }: Begun) {
    const debits = new Map(slashes)
    const ordered = amounts.toSorted((a, b) => compareKeys(a.one.line, b.one.line))
    const payouts = ordered.map(({ one: { line, paidBefore }, amount }) => {
      const { providerId, split, claim } = line
      const share = Number((BigInt(amount) * BigInt(split.provider)) / 10_000n)
      const miner = Number((BigInt(amount) * BigInt(split.miner)) / 10_000n)
      const owed = debits.get(providerId) ?? 0n
      const slashed = Number(least(owed, BigInt(share)))
      debits.set(providerId, owed - BigInt(slashed))
      const fund = amount - share - miner + slashed
      this.#money.move('issuance', providerId, BigInt(share - slashed))
      this.#money.move('issuance', `miner:${claim.minerId}`, BigInt(miner))
      this.#money.move('issuance', 'fund', BigInt(fund))
      return { line, paidBefore, amount, provider: share - slashed, miner, fund, slashed }
    })
    for (const [providerId, debit] of debits) if (debit === 0n) debits.delete(providerId)
    return { payouts, debits }
  }
}

function lineMap({ claim, job, providerId, epochId, rate, qPpm, dPpm, gross, split }: Line) {
  const { provider, miner, fund } = split
  return {
    claim_key: bytes(claim.claimKey),
    task_id: bytes(job.facts.id),
    kind: job.facts.kind,
    provider_id: providerId,
    miner_id: claim.minerId,
    envelope_hash: bytes(claim.envelopeHash),
    nullifier: bytes(claim.nullifier),
    block_height: claim.blockHeight,
    epoch_id: epochId,
    units_ppm: claim.unitsPpm,
    rate,
    q_ppm: qPpm,
    d_ppm: dPpm,
    gross,
    split: { provider, miner, fund },
  }
}

/** SETTLE-13. */
function rootOf(lines: readonly CborValue[]): string {
  const hash = (...parts: readonly Uint8Array[]): Uint8Array => {
    const one = createHash('sha3-256')
    for (const part of parts) one.update(part)
    return one.digest()
  }
  let level = lines.map((line) => hash(Uint8Array.of(0), encodeCbor(line)))
  if (level.length === 0) return NO_HASH
  while (level.length > 1) {
    level = level.flatMap((left, i) => {
      if (i % 2 === 1) return []
      const right = level[i + 1]
      return [right === undefined ? left : hash(Uint8Array.of(1), left, right)]
    })
  }
  return `0x${Buffer.from(level[0] as Uint8Array).toString('hex')}`
}

function byKey(lines: readonly Line[]): Line[] {
  return lines.toSorted(compareKeys)
}

function compareKeys(a: Line, b: Line): number {
  if (a.claim.claimKey === b.claim.claimKey) return 0
  return a.claim.claimKey < b.claim.claimKey ? -1 : 1
}

function bytes(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex.slice(2), 'hex'))
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n)
}
