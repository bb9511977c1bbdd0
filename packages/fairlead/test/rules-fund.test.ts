import { describe, expect, it } from 'vitest'
import type { FundFigures } from '../dist/demo/fund/fund-figures.js'
import { fairlead } from './cli-process.ts'

async function demo(seed: number): Promise<FundFigures> {
  const args = ['demo', '--rules', '--fund', '--seed', String(seed), '--json']
  const { code, out } = await fairlead(args)
  expect(code).toBe(0)
  return JSON.parse(out) as FundFigures
}

const idsOf = ({ settlements }: FundFigures) => settlements.map(({ batch_id }) => batch_id)
const number = (amount: number | string) => Number(amount)

describe('fairlead demo --rules --fund', () => {
  it('SETTLE-15: the same seed gives the same batches to the last bit, here and elsewhere', async () => {
    const first = await demo(1)
    expect(await demo(1)).toEqual(first)
    expect(idsOf(await demo(2))).not.toEqual(idsOf(first))
    expect(idsOf(first)).toMatchInlineSnapshot(`
      [
        "0x36782669448e7d7ef87e7190d48cb58e572768a2beeb67ff1b16816ffd7dedf3",
        "0x1724abd847acc7d1899dfc1062214629e52a77eab25977ee01ee2f2b5ab5705d",
        "0x05981b82a705d39e644ea0d5410067ce64c7eb0a2d0dd706a24ec976ccf5ff4f",
        "0xe9d0282deff8bfa372bd38da335d1ba72fdb50eca2e4ad9cf661eb6798403fa3",
      ]
    `)
  })

  it.each([3, 4, 5])(
    'SETTLE-19: everything is verified, and the sums agree (seed %i)',
    async (seed) => {
      const { settlements, slashes, providers, payout_proof, books, wrong } = await demo(seed)
      expect(wrong).toEqual([])
      expect(settlements).toHaveLength(4)
      expect(payout_proof?.provider_id).toBe('provider:atlas')
      expect(Object.values(books).reduce<number>((sum, one) => sum + number(one), 0)).toBe(0)
      const paid = settlements.reduce((sum, one) => sum + number(one.paid), 0)
      expect(number(books['issuance'] as number)).toBe(-paid)
      const slashed = settlements.reduce((sum, one) => sum + number(one.slashed), 0)
      expect(slashes.reduce((sum, { amount }) => sum + number(amount), 0)).toBe(slashed)
      expect(new Set(slashes.map(({ provider_id }) => provider_id))).toEqual(
        new Set(['provider:cirrus']),
      )
      const bands = Object.fromEntries(
        providers.map(({ provider_id, band }) => [provider_id, band]),
      )
      expect(bands).toMatchObject({
        'provider:atlas': 'gold',
        'provider:borealis': 'bronze',
        'provider:cirrus': 'fail',
      })
      const [first] = settlements
      expect(number(first?.unstaked ?? 0)).toBe(15_000)
    },
  )
})
