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
        "0x5ca7581b278bae647ce4d139b5550b2a4d223d7c3234ab10ca0909ae6bbdf005",
        "0x82dee547d4d942fe883f05f1bb03765d7b4761f637bb27e929d8eb3c8e231fb9",
        "0x34896636535046ec631aefbde82f3b449fbaf36a1b34c0e6b279a47ca3f5f8d6",
        "0xae6ada84b5f6b05df67b5062162205118d0477294c05dd976176f824c306aba3",
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
