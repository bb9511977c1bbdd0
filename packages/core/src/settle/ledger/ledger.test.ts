import { beforeEach, describe, expect, it } from 'vitest'
import { HOLDER, sumOfBalances } from '../../../test/any-fund.ts'
import { Ledger } from './ledger.ts'

let ledger: Ledger
beforeEach(() => {
  ledger = new Ledger()
})

const code = (name: string) => expect.objectContaining({ code: name })

describe('stake', () => {
  it('STAKE-1: it comes from outside, in amounts of at least 1', () => {
    expect(ledger.stake(HOLDER, 5n)).toEqual({
      from: 'external',
      to: `stake:${HOLDER}`,
      amount: 5n,
    })
    expect(ledger.staked(HOLDER)).toEqual({ stake: 5n, unstaking: [] })
    for (const wrong of [0n, -1n, 2n ** 64n]) {
      expect(() => ledger.stake(HOLDER, wrong)).toThrow(code('InvalidParams'))
      expect(() => ledger.unstake(HOLDER, wrong, 1)).toThrow(code('InvalidParams'))
    }
    expect(() => ledger.stake(HOLDER, 2n ** 64n - 1n)).toThrow(code('LimitExceeded'))
    expect(ledger.staked(HOLDER).stake).toBe(5n)
  })

  it('STAKE-2: what is taken out leaves the stake at once, and is remembered until it is paid', () => {
    ledger.stake(HOLDER, 10n)
    ledger.unstake(HOLDER, 4n, 100)
    ledger.unstake(HOLDER, 6n, 90)
    expect(ledger.staked(HOLDER)).toEqual({
      stake: 0n,
      unstaking: [
        { amount: 4n, maturesAt: 100 },
        { amount: 6n, maturesAt: 90 },
      ],
    })
    expect(ledger.balance(`unstaking:${HOLDER}`)).toBe(10n)
    expect(ledger.unstakingProviders()).toEqual([HOLDER])
  })

  it('STAKE-2: more than the stake is InsufficientStake, and changes nothing', () => {
    ledger.stake(HOLDER, 10n)
    expect(() => ledger.unstake(HOLDER, 11n, 1)).toThrow(
      expect.objectContaining({
        code: 'InsufficientStake',
        details: { required: 11n, actual: 10n },
      }),
    )
    expect(ledger.state().unstaking).toEqual([])
  })
})

describe('payouts', () => {
  const pay = (fields: object = {}, earlier: { account: string; amount: bigint } | null = null) =>
    ledger.recordPayout({ account: 'fund', amount: 5n, reference: 'r', ...fields }, earlier)

  beforeEach(() => {
    ledger.apply([{ from: 'issuance', to: 'fund', amount: 8n }], [])
  })

  it('LEDGER-3: what was paid out leaves the books to the outside', () => {
    expect(pay()).toEqual({ from: 'fund', to: 'external', amount: 5n })
    expect(ledger.balance('fund')).toBe(3n)
    expect(sumOfBalances(ledger)).toBe(0n)
  })

  it('LEDGER-3: a reference that comes again pays nothing more, with others it is refused', () => {
    const earlier = { account: 'fund', amount: 5n }
    expect(pay({}, earlier)).toBeNull()
    expect(() => pay({ amount: 6n }, earlier)).toThrow(code('IdempotencyConflict'))
    expect(() => pay({ account: HOLDER }, earlier)).toThrow(code('IdempotencyConflict'))
    expect(ledger.balance('fund')).toBe(8n)
  })

  it.each([
    'issuance',
    'external',
    'stake:provider:a',
    'unstaking:provider:a',
    'miner:',
    'provider:',
    'provider:A',
    '',
    null,
  ])('LEDGER-3: %j pays nothing out', (account) => {
    expect(() => pay({ account })).toThrow(code('InvalidParams'))
  })

  it.each(['', 'x'.repeat(129), 'é'.repeat(65), '\ud800', 5])(
    'LEDGER-3: %j is no reference',
    (reference) => {
      expect(() => pay({ reference })).toThrow(/reference/)
    },
  )

  it('LEDGER-3: more than the balance is InvalidState, after the reference was looked at', () => {
    expect(() => pay({ amount: 9n })).toThrow(code('InvalidState'))
    expect(pay({ amount: 8n })).not.toBeNull()
    expect(() => pay({ account: 'miner:operator', amount: 1n })).toThrow(code('InvalidState'))
    expect(pay({ amount: 100n }, { account: 'fund', amount: 100n })).toBeNull()
  })
})

it('LEDGER-2: an account at 0 is left out, and nothing but two may owe', () => {
  ledger.stake(HOLDER, 5n)
  ledger.unstake(HOLDER, 5n, 1)
  expect(ledger.state().balances).toEqual([
    ['external', -5n],
    [`unstaking:${HOLDER}`, 5n],
  ])
  for (const transfer of [
    { from: 'fund', to: HOLDER, amount: 1n },
    { from: 'issuance', to: 'fund', amount: 0n },
    { from: 'issuance', to: 'issuance', amount: 1n },
  ]) {
    expect(() => ledger.apply([transfer], [])).toThrow(code('Internal'))
  }
})
