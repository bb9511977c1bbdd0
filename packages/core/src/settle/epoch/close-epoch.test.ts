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
  sumOfBalances,
} from '../../../test/any-fund.ts'
import type { ProviderId } from '../../encoding/ids.ts'
import { Ledger } from '../ledger/ledger.ts'
import { NO_BATCH } from './batch.ts'
import { Epochs } from './epochs.ts'

const amounts = (close: { payouts: readonly { amount: number }[] }): number[] =>
  close.payouts.map(({ amount }) => amount)
const slash = (amount: bigint, providerId: string = HOLDER) => ({ providerId, amount })

describe('when an epoch is closed', () => {
  const terms = (epochId: number, nowMs: number) => ({
    epochId,
    nowMs,
    policy: fundPolicy(),
    slashes: [],
    auditSeq: 0,
    auditHead: NO_BATCH,
  })

  it('SETTLE-4: not before its end', () => {
    const fund = new Fund()
    const end = (EPOCH + 1) * EPOCH_MS
    expect(() => fund.epochs.freeze(terms(EPOCH, end - 1), fund.ledger)).toThrow(
      expect.objectContaining({ code: 'InvalidState', details: { epochId: EPOCH, endsAt: end } }),
    )
    expect(fund.epochs.freeze(terms(EPOCH, end), fund.ledger)).not.toBeNull()
  })

  it('SETTLE-4: again, or an older one, changes nothing', () => {
    const fund = new Fund()
    fund.close(EPOCH)
    const late = (EPOCH + 9) * EPOCH_MS
    expect(fund.epochs.freeze(terms(EPOCH, late), fund.ledger)).toBeNull()
    expect(fund.epochs.freeze(terms(EPOCH - 1, late), fund.ledger)).toBeNull()
    expect(fund.epochs.freeze(terms(EPOCH + 1, late), fund.ledger)).not.toBeNull()
    expect(fund.epochs.lastClosed).toBe(EPOCH)
  })

  it.each([-1, 0.5, Number.NaN])('SETTLE-4: %d is not an epoch', (epochId) => {
    const fund = new Fund()
    expect(() => fund.epochs.freeze(terms(epochId, 0), fund.ledger)).toThrow(/epoch_id/)
  })

  it('SETTLE-4: it takes the claims of epochs that were skipped', () => {
    const fund = new Fund()
    fund.claim(1, { epoch: EPOCH })
    fund.claim(2, { epoch: EPOCH + 2 })
    fund.claim(4, { epoch: EPOCH + 3 })
    expect(fund.close(EPOCH + 2).batch?.totals).toMatchObject({ claims: 2, gross: 3_000n })
  })

  it('SETTLE-9: two slashes of one provider are refused', () => {
    const slashes = [slash(1n), slash(2n)]
    const wrong = { ...terms(EPOCH, (EPOCH + 1) * EPOCH_MS), slashes }
    expect(() => new Epochs().freeze(wrong, new Ledger())).toThrow(/slashes/)
  })
})

describe('the budget', () => {
  it('SETTLE-5: without one everything is paid', () => {
    const fund = new Fund()
    fund.claim(1)
    fund.claim(2)
    expect(fund.close().batch?.totals).toMatchObject({ budget: null, paid: 3_000n, carry: 0n })
  })

  it('SETTLE-6: scale pays each its part, and the dust is paid to nobody', () => {
    const fund = new Fund({ gamma_fund: 1_000 })
    for (const units of [1, 1, 1]) fund.claim(units)
    const close = fund.close()
    expect(amounts(close)).toEqual([333, 333, 333])
    expect(close.batch?.totals).toMatchObject({ paid: 999n, deferred: 0n })
    expect(fund.epochs.unpaid(HOLDER)).toBe(0n)
  })

  it('SETTLE-7: defer pays the oldest first, in instalments', () => {
    const fund = new Fund({ gamma_fund: 1_000, cap: 'defer' })
    fund.claim(2.5, { epoch: EPOCH })
    const first = fund.close(EPOCH)
    expect(first.batch?.totals).toMatchObject({ paid: 1_000n, deferred: 1_500n })
    fund.claim(0.2, { epoch: EPOCH + 1 })
    expect(fund.epochs.unpaid(HOLDER)).toBe(1_700n)
    expect(amounts(fund.close(EPOCH + 1))).toEqual([1_000])
    const last = fund.close(EPOCH + 2)
    expect(new Set(amounts(last))).toEqual(new Set([500, 200]))
    expect(last.payouts.find(({ amount }) => amount === 500)?.paidBefore).toBe(2_000)
  })

  it('SETTLE-7: what was deferred under defer is paid in part under scale, and then it is over', () => {
    const fund = new Fund({ gamma_fund: 100, cap: 'defer' })
    fund.claim(1)
    fund.close(EPOCH)
    fund.policy = fundPolicy({ gamma_fund: 0, cap: 'scale' })
    const close = fund.close(EPOCH + 1)
    expect([close.batch, close.due]).toEqual([null, []])
    expect(fund.epochs.unpaid(HOLDER)).toBe(0n)
  })

  it('SETTLE-8: an unused part goes to the next epoch only', () => {
    const fund = new Fund({ gamma_fund: 1_000, carry_ppm: 500_000 })
    fund.claim(0.5)
    expect(fund.close(EPOCH).batch?.totals.carry).toBe(250n)
    fund.claim(2, { epoch: EPOCH + 1 })
    const next = structuredClone(fund.epochs.state())
    expect(fund.close(EPOCH + 1).batch?.totals).toMatchObject({ budget: 1_250n, paid: 1_250n })
    // The same claims, closed one epoch later.
    const other = new Fund({ gamma_fund: 1_000, carry_ppm: 500_000 }, new Epochs(next))
    expect(other.close(EPOCH + 2).batch?.totals).toMatchObject({ budget: 1_000n })
  })

  it('SETTLE-5: with what is carried it is never over 10^18', () => {
    const fund = new Fund({ gamma_fund: '1000000000000000000', carry_ppm: 1_000_000 })
    fund.claim(1)
    fund.close(EPOCH)
    fund.claim(1, { epoch: EPOCH + 1 })
    expect(fund.close(EPOCH + 1).batch?.totals.budget).toBe(10n ** 18n)
  })
})

describe('slashes and stake', () => {
  it('SETTLE-9: a slash comes off the shares line by line, then off the stake', () => {
    const fund = new Fund()
    fund.ledger.stake(HOLDER, 10_000n)
    fund.claim(1)
    fund.claim(1)
    const close = fund.close(EPOCH, { slashes: [slash(2_000n)] })
    expect(close.payouts.map(({ provider, slashed }) => [provider, slashed])).toEqual([
      [0, 800],
      [0, 800],
    ])
    expect(close.batch?.totals).toMatchObject({ slashed: 2_000n, debits: { [HOLDER]: 400n } })
    expect(fund.ledger.staked(HOLDER).stake).toBe(9_600n)
    expect(fund.ledger.balance('fund')).toBe(100n + 2_000n)
  })

  it('SETTLE-9: it is at most everything at stake, shares or not', () => {
    const fund = new Fund()
    fund.ledger.stake(HOLDER, 100n)
    fund.claim(1)
    const close = fund.close(EPOCH, { slashes: [slash(2_000n)] })
    expect(close.batch?.totals).toMatchObject({ slashed: 100n, debits: {} })
    expect(fund.ledger.staked(HOLDER).stake).toBe(100n)
  })

  it('SETTLE-9: after the stake it takes the oldest request first', () => {
    const fund = new Fund()
    fund.ledger.stake(HOLDER, 1_000n)
    const late = (EPOCH + 9) * EPOCH_MS
    for (const amount of [300n, 400n]) fund.ledger.unstake(HOLDER, amount, late)
    fund.close(EPOCH, { slashes: [slash(500n)] })
    expect(fund.ledger.staked(HOLDER)).toEqual({
      stake: 0n,
      unstaking: [
        { amount: 100n, maturesAt: late },
        { amount: 400n, maturesAt: late },
      ],
    })
  })

  it('SETTLE-10: matured stake is paid by the first close, after its slash', () => {
    const fund = new Fund()
    fund.ledger.stake(HOLDER, 1_000n)
    const end = (EPOCH + 1) * EPOCH_MS
    fund.ledger.unstake(HOLDER, 600n, end)
    fund.ledger.unstake(HOLDER, 400n, end + 1)
    const close = fund.close(EPOCH, { slashes: [slash(100n)] })
    expect(close.batch?.totals).toMatchObject({
      unstaked: { [HOLDER]: 500n },
      debits: { [HOLDER]: 100n },
    })
    expect(fund.ledger.balance(HOLDER)).toBe(500n)
    expect(fund.ledger.staked(HOLDER).unstaking).toEqual([{ amount: 400n, maturesAt: end + 1 }])
  })

  it('SETTLE-11: with nothing to tell there is no batch, also with a slash of nothing', () => {
    const fund = new Fund()
    expect(fund.close(EPOCH, { slashes: [slash(5n)] })).toMatchObject({
      batch: null,
      batchId: null,
    })
    fund.claim(1, { epoch: EPOCH + 1, band: 'fail' })
    const close = fund.close(EPOCH + 1)
    expect(close.batch?.totals).toMatchObject({ claims: 1, payouts: 0 })
  })
})

describe('whole histories', () => {
  const history = fc.tuple(anyEconomics, fc.array(anyFundStep, { maxLength: 60 }))

  test('LEDGER-1: all balances add up to 0, and only two accounts owe', () => {
    fc.assert(
      fc.property(history, ([economics, steps]) => {
        const fund = new Fund(economics)
        for (const step of steps) {
          runFund(fund, [step], (fund.epochs.lastClosed ?? EPOCH - 1) + 1)
          expect(sumOfBalances(fund.ledger)).toBe(0n)
          for (const [account, balance] of fund.ledger.state().balances) {
            if (account !== 'issuance' && account !== 'external') expect(balance > 0n).toBe(true)
          }
        }
      }),
      { numRuns: 150 },
    )
  })

  test('SETTLE-5: no close pays more than is due or than its budget, and its totals are its lines', () => {
    fc.assert(
      fc.property(history, ([economics, steps]) => {
        const paid = new Map<string, number>()
        for (const { batch, payouts, transfers } of runFund(new Fund(economics), steps)) {
          for (const { claim, paidBefore, amount, ...shares } of payouts) {
            expect(paidBefore).toBe(paid.get(claim.claimKey) ?? 0)
            expect(amount).toBeGreaterThan(0)
            expect(shares.provider + shares.miner + shares.fund).toBe(amount)
            paid.set(claim.claimKey, paidBefore + amount)
            expect(paidBefore + amount).toBeLessThanOrEqual(claim.gross)
          }
          if (batch === null) continue
          const { totals } = batch
          if (totals.budget !== null) expect(totals.paid <= totals.budget).toBe(true)
          const debits = Object.values(totals.debits).reduce((sum, debit) => sum + debit, 0n)
          expect(totals.provider + totals.miner + totals.fund).toBe(totals.paid + debits)
          const issued = transfers.filter(({ from }) => from === 'issuance')
          expect(issued.reduce((sum, { amount }) => sum + amount, 0n)).toBe(totals.paid)
          const pairs = transfers.map(({ from, to }) => `${from}\0${to}`)
          expect(pairs.toSorted()).toEqual([...new Set(pairs)])
        }
      }),
      { numRuns: 150 },
    )
  })

  test('SETTLE-7: whatever is deferred is paid in the end, exactly', () => {
    const units = fc.array(fc.integer({ min: 1, max: 4_000 }), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(units, fc.integer({ min: 400, max: 3_000 }), (thousandths, gamma_fund) => {
        const fund = new Fund({ gamma_fund, cap: 'defer' })
        const gross = thousandths.map((each) => fund.claim(each / 1_000).gross)
        let paid = 0n
        let epoch = EPOCH
        // 48,000 base units at 400 an epoch.
        for (; epoch < EPOCH + 120 && fund.epochs.unpaid(HOLDER) > 0n; epoch++) {
          paid += fund.close(epoch).batch?.totals.paid ?? 0n
        }
        expect(fund.epochs.unpaid(HOLDER)).toBe(0n)
        expect(paid).toBe(BigInt(gross.reduce((sum, each) => sum + each, 0)))
        expect(-fund.ledger.balance('issuance')).toBe(paid)
      }),
      { numRuns: 60 },
    )
  })

  test('SETTLE-13: a batch does not depend on the order in which its claims became FINAL', () => {
    const claims = fc.uniqueArray(fc.nat(200), { minLength: 1, maxLength: 15 })
    fc.assert(
      fc.property(claims, anyEconomics, fc.infiniteStream(fc.nat()), (ns, economics, dice) => {
        const close = (order: readonly number[]) => {
          const fund = new Fund(economics)
          fund.ledger.stake('provider:p0', 700n)
          for (const n of order) {
            const provider = `provider:p${n % 3}` as ProviderId
            fund.claim((n % 7) / 2, { n, provider, epoch: EPOCH - (n % 2) })
          }
          return fund.close(EPOCH, { slashes: [slash(500n, 'provider:p0')] })
        }
        const keyed = ns.map((n) => ({ n, key: dice.next().value }))
        const shuffled = keyed.sort((a, b) => a.key - b.key).map((one) => one.n)
        expect(close(shuffled)).toEqual(close(ns))
      }),
      { numRuns: 60 },
    )
  })

  test('SETTLE-15: restored from its state at any point a fund decides alike', () => {
    fc.assert(
      fc.property(history, fc.nat(60), ([economics, steps], at) => {
        const [before, after] = [steps.slice(0, at), steps.slice(at)]
        const one = new Fund(economics)
        runFund(one, before)
        const epochs = new Epochs(structuredClone(one.epochs.state()))
        const other = new Fund(economics, epochs, new Ledger(structuredClone(one.ledger.state())))
        const start = (one.epochs.lastClosed ?? EPOCH - 1) + 1
        // The claims of the second half have other numbers than those of the first.
        const [a, b] = [one, other].map((fund) => {
          for (let n = 0; n < 3; n++) fund.claim(n, { n: 500 + n, epoch: start })
          return runFund(
            fund,
            after.filter(({ op }) => op !== 'claim'),
            start,
          )
        })
        expect(b).toEqual(a)
        expect(other.ledger.state()).toEqual(one.ledger.state())
        expect(other.epochs.state()).toEqual(one.epochs.state())
      }),
      { numRuns: 100 },
    )
  })
})

it('SETTLE-15: claims that come while a close is computed wait for the next one', () => {
  const fund = new Fund()
  fund.claim(1)
  const nowMs = (EPOCH + 1) * EPOCH_MS
  const terms = { epochId: EPOCH, nowMs, policy: fund.policy, slashes: [] }
  const input = fund.epochs.freeze({ ...terms, auditSeq: 0, auditHead: NO_BATCH }, fund.ledger)
  fund.claim(2, { epoch: EPOCH + 1 })
  expect(input?.lines).toHaveLength(1)
  fund.close(EPOCH)
  expect(fund.epochs.state().lines).toHaveLength(1)
  expect(fund.epochs.unpaid(HOLDER)).toBe(2_000n)
})

it('SETTLE-15: a close is brought into the books once', () => {
  const fund = new Fund()
  fund.claim(1)
  const close = fund.close()
  expect(() => fund.epochs.apply(close, fund.ledger)).toThrow(
    expect.objectContaining({ code: 'Internal' }),
  )
})

it('SETTLE-12: a batch names the one before it, across epochs without one', () => {
  const fund = new Fund()
  fund.claim(1)
  const first = fund.close(EPOCH)
  fund.close(EPOCH + 1)
  fund.claim(1, { epoch: EPOCH + 2 })
  const second = fund.close(EPOCH + 2)
  expect(first.batch?.prevBatchId).toBe(NO_BATCH)
  expect(second.batch?.prevBatchId).toBe(first.batchId)
  expect(second.batch).toMatchObject({ auditSeq: 1, auditHead: hash32('a') })
  expect(billedClaim(0).claimKey).toBe(first.claims[0]?.claimKey)
})
