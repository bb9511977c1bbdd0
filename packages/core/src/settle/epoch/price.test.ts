import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { Fund, fundPolicy } from '../../../test/any-fund.ts'
import type { Band } from '../../policy/sla-policy.ts'
import { type PricedWork, priceClaim, splitAmount } from './price.ts'

const WORK: PricedWork = {
  kind: 'ai',
  unitsPpm: 3_250_000n,
  band: 'silver',
  model: 'm',
  depthHint: 0,
}

function price(work: Partial<PricedWork>, economics: object = {}) {
  return priceClaim({ ...WORK, ...work }, fundPolicy(economics).economics)
}

describe('what a claim is worth', () => {
  it.each<[Band, number]>([
    ['gold', 3_575],
    ['silver', 3_250],
    ['bronze', 2_762],
    ['fail', 0],
  ])('SETTLE-1: 3.25 units of ai in %s are worth %d', (band, gross) => {
    expect(price({ band }).gross).toBe(gross)
  })

  it.each([
    [0, 1_000_000],
    [16, 1_000_000],
    [17, 1_500_000],
    [32, 1_500_000],
    [33, 2_000_000],
    [4_294_967_295, 2_000_000],
  ])('SETTLE-1: a depth of %d has the factor %d', (depthHint, dPpm) => {
    const { gross, rate } = price({ kind: 'quantum', depthHint })
    expect({ gross, rate }).toEqual({ gross: Math.floor(16_250 * (dPpm / 1e6)), rate: 5_000 })
  })

  it('SETTLE-1: a model may have a rate of its own, whatever it is called', () => {
    const economics = { model_rate: { m: 7, constructor: 9 } }
    expect(price({}, economics).rate).toBe(7)
    expect(price({ model: 'constructor' }, economics).rate).toBe(9)
    expect(price({ model: 'toString' }, economics).rate).toBe(1_000)
    expect(price({ model: null }, economics).rate).toBe(1_000)
    expect(price({ kind: 'quantum', model: 'm' }, economics).rate).toBe(5_000)
  })

  it('SETTLE-1: no claim is worth more than max_per_claim, also at the largest numbers', () => {
    expect(price({ unitsPpm: 2n ** 64n - 1n }).gross).toBe(1_000_000_000_000)
    expect(price({}, { max_per_claim: 3_249 }).gross).toBe(3_249)
    expect(price({}, { max_per_claim: 3_250 }).gross).toBe(3_250)
    expect(price({}, { max_per_claim: 0 }).gross).toBe(0)
  })

  it('SETTLE-1: it is floored once, at the end', () => {
    expect(price({ unitsPpm: 999n, band: 'gold' }).gross).toBe(1)
    expect(price({ unitsPpm: 909n, band: 'gold' }).gross).toBe(0)
  })
})

describe('who gets it', () => {
  it('SETTLE-3: the fund has what flooring leaves', () => {
    const bps = { provider: 8_000, miner: 1_500, fund: 500 }
    expect(splitAmount(7, bps)).toEqual({ provider: 5, miner: 1, fund: 1 })
    expect(splitAmount(1, bps)).toEqual({ provider: 0, miner: 0, fund: 1 })
    expect(splitAmount(0, bps)).toEqual({ provider: 0, miner: 0, fund: 0 })
  })

  test('SETTLE-3: the parts add up to the amount, exactly', () => {
    const bps = fc.tuple(fc.nat(10_000), fc.nat(10_000)).map(([a, b]) => {
      const [low, high] = a < b ? [a, b] : [b, a]
      return { provider: low, miner: high - low, fund: 10_000 - high }
    })
    fc.assert(
      fc.property(fc.nat(1_000_000_000_000), bps, (amount, split) => {
        const parts = splitAmount(amount, split)
        expect(parts.provider + parts.miner + parts.fund).toBe(amount)
        expect(BigInt(parts.provider)).toBe((BigInt(amount) * BigInt(split.provider)) / 10_000n)
        expect(BigInt(parts.miner)).toBe((BigInt(amount) * BigInt(split.miner)) / 10_000n)
      }),
    )
  })
})

it('SETTLE-2: a line keeps the price and the split of the moment at which it became FINAL', () => {
  const fund = new Fund()
  const line = fund.claim(2)
  expect(line).toMatchObject({ epochId: 490_000, rate: 1_000, qPpm: 1_000_000, gross: 2_000 })
  const all = { provider: 10_000, miner: 0, fund: 0 }
  fund.policy = fundPolicy({
    base_rate: { ai: 1, quantum: 1 },
    split_bps: { ai: all, quantum: all },
  })
  const { payouts } = fund.close()
  expect(payouts).toMatchObject([{ amount: 2_000, provider: 1_600, miner: 300, fund: 100 }])
})

it('SETTLE-2: its epoch is that of the moment at which it became FINAL', () => {
  const fund = new Fund()
  fund.claim(1, { epoch: 490_000 })
  fund.claim(1, { epoch: 490_001 })
  expect(fund.close(490_000).claims.map(({ epochId }) => epochId)).toEqual([490_000])
  expect(fund.close(490_001).claims.map(({ epochId }) => epochId)).toEqual([490_001])
})
