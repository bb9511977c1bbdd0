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
        "0x0f1da33432909557bba522aedffe3e7a9f6f0c1744189f8b1addcea27c7fc9f0",
        "0xdb890a4d3aa067e99544c920128c5a72aad78f413a8dac4daec39b78e29b6c18",
        "0x8f6bf7e851181486441843b47c2b45b6c0616f25656fd58bc2d8bd246ada4be7",
        "0x4736ee74d01b7e39225c24d7559743652259515b381e22f6b8de8ff6f72eef55",
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
