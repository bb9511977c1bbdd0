import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import {
  anyEconomics,
  anyFundStep,
  billedClaim,
  EPOCH,
  EPOCH_MS,
  Fund,
  fundPolicy,
  HOLDER,
  hash32,
  runFund,
} from '../../../test/any-fund.ts'
import { fromHex } from '../../encoding/bytes.ts'
import { claimKey, type JobId, type ProviderId } from '../../encoding/ids.ts'
import { batchIdOf, type Totals } from './batch.ts'
import { BatchChain, type BatchVerdict } from './batch-chain.ts'
import { payoutProofOf, readSettlement, type SettledBatch, showSettledBatch } from './batch-file.ts'
import type { EpochClose } from './close-epoch.ts'
import { appendClaimLine, appendPayoutLine, type ClaimLine, type PayoutLine } from './line.ts'
import { merkleRoot, merkleTree } from './merkle.ts'

function settledOf(close: EpochClose, fund: Fund): SettledBatch {
  const { batchId, batch, claims, payouts } = close
  if (batch === null || batchId === null) throw new Error(`epoch ${close.epochId} has no batch`)
  const { economics, sla } = fund.policy
  return { batchId, batch, claims, payouts, policy: { economics, sla } }
}

/** As somebody has it who got the file. */
function asRead(settled: SettledBatch): SettledBatch {
  const read = readSettlement(JSON.parse(JSON.stringify(showSettledBatch(settled))))
  if (read.format !== 'fairlead-batch-1') throw new Error('a batch was written')
  return read
}

interface Changes {
  readonly claims?: readonly ClaimLine[]
  readonly payouts?: readonly PayoutLine[]
  readonly totals?: Partial<Totals>
  readonly policy?: SettledBatch['policy']
  readonly prevBatchId?: string
}

/** The forgery of somebody who knows the rules of ids and roots: all of them fit the changed lines. */
function forged(settled: SettledBatch, changes: Changes): SettledBatch {
  const { claims = settled.claims, payouts = settled.payouts, policy = settled.policy } = changes
  const { prevBatchId = settled.batch.prevBatchId } = changes
  const numbers = { claims: claims.length, payouts: payouts.length }
  const batch = {
    ...settled.batch,
    prevBatchId,
    claimsRoot: merkleRoot(merkleTree(claims, appendClaimLine)),
    payoutsRoot: merkleRoot(merkleTree(payouts, appendPayoutLine)),
    totals: { ...settled.batch.totals, ...numbers, ...changes.totals },
  }
  return { batchId: batchIdOf(batch), batch, claims, payouts, policy }
}

const provider = (n: number) => `provider:p${n}` as ProviderId
const check = (settled: SettledBatch): BatchVerdict => new BatchChain().checkBatch(settled)
const fieldOf = (settled: SettledBatch): string | undefined => check(settled).fault?.field

/** Three claims of two providers, a slash that takes more than the shares of one, and matured stake. */
function busyEpoch(economics: object = {}): { fund: Fund; close: EpochClose } {
  const fund = new Fund(economics)
  fund.ledger.stake(provider(1), 9_000n)
  fund.ledger.unstake(provider(1), 1_000n, 0)
  fund.claim(1, { provider: provider(1) })
  fund.claim(2, { provider: provider(1), band: 'gold' })
  fund.claim(3, { provider: provider(2), band: 'bronze' })
  const slashes = [{ providerId: provider(1), amount: 5_000n }]
  return { fund, close: fund.close(EPOCH, { slashes }) }
}

describe('SETTLE-19: a batch by its own lines', () => {
  const { fund, close } = busyEpoch()
  const good = asRead(settledOf(close, fund))
  const claim = (changes: Partial<ClaimLine>, i = 0) =>
    good.claims.map((line, at) => (at === i ? { ...line, ...changes } : line))
  const payout = (changes: Partial<PayoutLine>, i = 0) =>
    good.payouts.map((line, at) => (at === i ? { ...line, ...changes } : line))
  const [one, two] = good.claims as [ClaimLine, ClaimLine]
  const [paid] = good.payouts as [PayoutLine]

  it('SETTLE-19: it holds, and so does a forgery that changes nothing', () => {
    expect(check(good)).toEqual({ fault: null, isRecomputed: true })
    expect(forged(good, {})).toMatchObject({ batchId: good.batchId, batch: good.batch })
  })

  it('SETTLE-14, SETTLE-19: without new ids and roots any change is found at once', () => {
    expect(fieldOf({ ...good, batch: { ...good.batch, epochId: EPOCH + 1 } })).toBe('batch_id')
    expect(fieldOf({ ...good, claims: claim({ gross: 1 }) })).toBe('batch.claims_root')
    expect(fieldOf({ ...good, payouts: payout({ amount: 1 }) })).toBe('batch.payouts_root')
  })

  it.each<[string, Changes]>([
    ['claims[1].claim_key', { claims: good.claims.toReversed() }],
    ['claims[1].claim_key', { claims: [one, one, two] }],
    ['claims[0].claim_key', { claims: claim({ blockHeight: 101 }) }],
    ['claims[0].epoch_id', { claims: claim({ epochId: EPOCH + 1 }) }],
    ['claims[0].gross', { claims: claim({ gross: one.gross + 1 }) }],
    ['claims[0].gross', { claims: claim({ unitsPpm: one.unitsPpm - 1_000n }) }],
    ['claims[0].split', { claims: claim({ split: { ...one.split, fund: 501 } }) }],
    ['payouts[1].claim_key', { payouts: good.payouts.toReversed() }],
    ['payouts[0].paid_before', { payouts: payout({ paidBefore: 1 }) }],
    ['payouts[0].miner_id', { payouts: payout({ claim: { ...one, minerId: 'other' } }) }],
    ['payouts[0].claim_key', { claims: [], payouts: good.payouts }],
    ['payouts[0].amount', { payouts: payout({ amount: paid.amount + 1 }) }],
    ['payouts[0].amount', { payouts: payout({ amount: 0 }) }],
    ['payouts[0].miner', { payouts: payout({ miner: paid.miner + 1, fund: paid.fund - 1 }) }],
    ['payouts[0].provider', { payouts: payout({ provider: paid.provider + 1 }) }],
    ['payouts[0].fund', { payouts: payout({ fund: paid.fund + 1 }) }],
    ['payouts[0].slashed', { payouts: payout({ slashed: paid.amount }) }],
    ['batch.totals.claims', { totals: { claims: 4 } }],
    ['batch.totals.payouts', { totals: { payouts: 2 } }],
    ['batch.totals.gross', { totals: { gross: 1n } }],
    ['batch.totals.paid', { totals: { paid: 1n } }],
    ['batch.totals.provider', { totals: { provider: 1n } }],
    ['batch.totals.miner', { totals: { miner: 1n } }],
    ['batch.totals.fund', { totals: { fund: 1n } }],
    ['batch.totals.slashed', { totals: { slashed: 1n } }],
    ['batch.totals.fund', { totals: { debits: {} } }],
    [
      'batch.totals.debits.provider:z',
      { totals: { debits: { ...good.batch.totals.debits, 'provider:z': 0n } } },
    ],
    ['batch.totals.unstaked.provider:z', { totals: { unstaked: { 'provider:z': 0n } } }],
    ['batch.totals.paid', { totals: { budget: 5n } }],
    ['batch.totals.carry', { totals: { carry: 1n } }],
    ['batch.totals.deferred', { totals: { deferred: 1n } }],
    ['batch.policy_hash', { policy: fundPolicy({ cap: 'defer' }) }],
  ])('SETTLE-19: %s (%#)', (field, changes) => {
    expect(fieldOf(forged(good, changes))).toBe(field)
  })

  it('SETTLE-19: a split of a payout that is not the claim’s is found', () => {
    const split = { ...one.split, provider: 8_001, fund: 499 }
    const changes = { payouts: payout({ claim: { ...one, split } }) }
    expect(fieldOf(forged(good, changes))).toBe('payouts[0].split.provider')
  })

  it('SETTLE-19: one piece of work under two claim keys is found', () => {
    const again = new Fund()
    const { nullifier } = again.claim(1, { n: 1 })
    const key = {
      taskId: hash32('task 1') as JobId,
      height: 101,
      nullifier: fromHex(nullifier) as Uint8Array,
    }
    const copy = billedClaim(1, { blockHeight: 101, claimKey: claimKey(key) })
    const work = { band: 'silver' as const, model: 'm', depthHint: 0 }
    again.epochs.add(copy, work, { nowMs: EPOCH * EPOCH_MS, policy: again.policy })
    expect(fieldOf(settledOf(again.close(), again))).toBe('claims[1].nullifier')
  })

  it('SETTLE-11, SETTLE-19: a batch of nothing is found', () => {
    const fresh = new Fund()
    fresh.claim(1)
    const settled = settledOf(fresh.close(), fresh)
    const none = { gross: 0n, paid: 0n, provider: 0n, miner: 0n, fund: 0n }
    const empty = forged(settled, { claims: [], payouts: [], totals: none })
    expect(fieldOf(empty)).toBe('batch')
  })
})

describe('SETTLE-20: the close again', () => {
  const { fund, close } = busyEpoch({ gamma_fund: 4_000 })
  const good = settledOf(close, fund)

  it('SETTLE-20: payments that add up, but to others than the rules give, are found', () => {
    const moved = good.payouts
      .map((line, i) => ({ i, line }))
      .filter(({ line }) => line.slashed === 0)
    expect(moved).toHaveLength(1)
    // One base unit less for a provider that was not slashed, all sums changed with it.
    const { i, line } = moved[0] as { i: number; line: PayoutLine }
    const amount = line.amount - 1
    const shares = {
      provider: Math.floor((amount * 8_000) / 10_000),
      miner: Math.floor((amount * 1_500) / 10_000),
    }
    const less = { ...line, amount, ...shares, fund: amount - shares.provider - shares.miner }
    const payouts = good.payouts.with(i, less)
    const sum = (name: 'amount' | 'provider' | 'miner' | 'fund') =>
      payouts.reduce((total, each) => total + BigInt(each[name]), 0n)
    const debits = Object.values(good.batch.totals.debits).reduce((a, b) => a + b, 0n)
    const totals = {
      paid: sum('amount'),
      provider: sum('provider'),
      miner: sum('miner'),
      fund: sum('fund') + debits,
    }
    const { fault } = check(forged(good, { payouts, totals }))
    expect(fault).toEqual({
      field: 'batch.totals.paid',
      expected: `${good.batch.totals.paid}`,
      found: `${totals.paid}`,
    })
    // Without its policy nothing tells.
    const { policy: _, ...bare } = forged(good, { payouts, totals })
    expect(check({ ...bare, policy: null })).toEqual({ fault: null, isRecomputed: false })
  })

  it('SETTLE-9, SETTLE-20: a slash that comes off another line is found', () => {
    const own = good.payouts.filter(({ claim }) => claim.providerId === provider(1))
    expect(own.map(({ slashed }) => slashed > 0)).toEqual([true, true])
    const [first] = own as [PayoutLine]
    const i = good.payouts.indexOf(first)
    const spared = {
      ...first,
      slashed: 0,
      provider: first.slashed,
      fund: first.fund - first.slashed,
    }
    const { totals } = good.batch
    const taken = BigInt(first.slashed)
    const debits = { [provider(1)]: (totals.debits[provider(1)] ?? 0n) + taken }
    const changes = { provider: totals.provider + taken, debits }
    const { fault } = check(
      forged(good, { payouts: good.payouts.with(i, spared), totals: changes }),
    )
    expect(fault?.field).toBe('batch.totals.provider')
  })

  it('SETTLE-20: a budget that the policy does not give is found', () => {
    expect(fieldOf(forged(good, { totals: { budget: 9_000n } }))).toBe('batch.totals.budget')
  })

  test('SETTLE-19, SETTLE-20: every history holds, from its start and from any batch on', () => {
    const history = fc.array(anyFundStep, { maxLength: 40 })
    fc.assert(
      fc.property(history, anyEconomics, fc.nat(5), (steps, economics, skip) => {
        const own = new Fund(economics)
        const closes = runFund(own, steps).filter(({ batch }) => batch !== null)
        const settled = closes.map((each) => asRead(settledOf(each, own)))
        for (const list of [settled, settled.slice(skip)]) {
          const chain = new BatchChain()
          for (const each of list) expect(chain.checkBatch(each).fault).toBeNull()
        }
        const chain = new BatchChain()
        const verdicts = settled.map((each) => chain.checkBatch(each))
        const isGapless = closes.every((each, i) => each.epochId === (closes[0]?.epochId ?? 0) + i)
        if (isGapless) expect(verdicts.filter(({ isRecomputed }) => !isRecomputed)).toEqual([])
      }),
      { numRuns: 150 },
    )
  })
})

describe('SETTLE-12: one batch after another', () => {
  const fund = new Fund({ gamma_fund: 700, cap: 'defer' })
  const files = [0, 1, 2].map((i) => {
    fund.claim(1 + i, { epoch: EPOCH + i })
    return settledOf(fund.close(EPOCH + i), fund)
  }) as [SettledBatch, SettledBatch, SettledBatch]
  const [first, second, third] = files

  function verdicts(...batches: readonly SettledBatch[]): (string | boolean)[] {
    const chain = new BatchChain()
    return batches.map((each) => {
      const { fault, isRecomputed } = chain.checkBatch(each)
      return fault?.field ?? isRecomputed
    })
  }

  it('SETTLE-20: instalments are followed from batch to batch', () => {
    expect(verdicts(...files)).toEqual([true, true, true])
    // Alone it cannot be known what was due before.
    expect(verdicts(third)).toEqual([false])
  })

  it('SETTLE-12, SETTLE-19: a batch that is missing, out of order or linked to another is found', () => {
    expect(verdicts(first, third)).toEqual([true, 'batch.prev_batch_id'])
    expect(verdicts(second, first)).toEqual([true, 'batch.prev_batch_id'])
    const other = forged(second, { prevBatchId: hash32('x') })
    expect(verdicts(first, other)).toEqual([true, 'batch.prev_batch_id'])
    const early = { ...first.batch, prevBatchId: first.batchId }
    const again = { ...first, batch: early, batchId: batchIdOf(early) }
    expect(verdicts(first, again)).toEqual([true, 'batch.epoch_id'])
  })

  it('SETTLE-19: a claim that an earlier batch must have taken is found', () => {
    const old = third.claims.map((line) => ({ ...line, epochId: EPOCH }))
    expect(verdicts(first, second, forged(third, { claims: old }))).toEqual([
      true,
      true,
      'claims[0].epoch_id',
    ])
  })

  it('SETTLE-18: the payouts of a provider stand for their batch', () => {
    const chain = new BatchChain()
    expect(chain.checkBatch(first).fault).toBeNull()
    expect(chain.checkPayouts(payoutProofOf(second, HOLDER))).toBeNull()
    expect(chain.checkBatch(second)).toEqual({ fault: null, isRecomputed: true })
    expect(chain.checkPayouts(payoutProofOf(second, HOLDER))).toBeNull()
    expect(chain.checkBatch(third)).toEqual({ fault: null, isRecomputed: true })
    expect(chain.checkPayouts(payoutProofOf(first, HOLDER))?.field).toBe('batch.prev_batch_id')
  })
})
