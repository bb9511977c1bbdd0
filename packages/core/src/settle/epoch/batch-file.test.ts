import { describe, expect, it } from 'vitest'
import { EPOCH, Fund, fundPolicy, HOLDER } from '../../../test/any-fund.ts'
import type { ProviderId } from '../../encoding/ids.ts'
import { policyHash } from '../../policy/fund-hash.ts'
import { BatchChain } from './batch-chain.ts'
import {
  type PayoutProof,
  payoutProofOf,
  readSettlement,
  type SettledBatch,
  showPayoutProof,
  showSettledBatch,
} from './batch-file.ts'
import type { WholeBatch } from './verify-batch.ts'

const OTHER = 'provider:b' as ProviderId
const AMOUNT = 2n ** 60n

function settled(): SettledBatch {
  const fund = new Fund({ gamma_fund: 1_000 })
  fund.ledger.stake(OTHER, AMOUNT)
  fund.ledger.unstake(OTHER, AMOUNT, 0)
  for (const n of [1, 2, 3, 4, 5]) fund.claim(n, { provider: n % 2 === 0 ? OTHER : HOLDER })
  const slashes = [{ providerId: HOLDER, amount: 100n }]
  const close = fund.close(EPOCH, { slashes }) as WholeBatch
  const { batchId, batch, claims, payouts } = close
  const { economics, sla } = fund.policy
  return { batchId, batch, claims, payouts, policy: { economics, sla } }
}

const BATCH = settled()
const PROOF = payoutProofOf(BATCH, HOLDER)
const jsonOf = (shown: object) => JSON.parse(JSON.stringify(shown)) as Record<string, never>

describe('SETTLE-17: the file of a batch', () => {
  it('SETTLE-17: it reads back as it was', () => {
    const json = jsonOf(showSettledBatch(BATCH))
    expect(Object.keys(json)).toEqual([
      'format',
      'batch_id',
      'batch',
      'policy',
      'claims',
      'payouts',
    ])
    expect(readSettlement(json)).toEqual({ format: 'fairlead-batch-1', ...BATCH })
    expect(readSettlement({ ...json, policy: null })).toMatchObject({ policy: null })
    const { policy: _, ...without } = json
    expect(readSettlement(without)).toMatchObject({ policy: null })
  })

  it('SETTLE-17: amounts above 2^53 − 1 are decimal text', () => {
    const { batch } = jsonOf(showSettledBatch(BATCH)) as unknown as {
      batch: { totals: { unstaked: object; gross: unknown } }
    }
    expect(batch.totals.unstaked).toEqual({ [OTHER]: AMOUNT.toString() })
    expect(batch.totals.gross).toBe(15_000)
  })

  it('SETTLE-12, SETTLE-17: the policy in the file is the one that was hashed', () => {
    const { policy } = readSettlement(jsonOf(showSettledBatch(BATCH))) as SettledBatch
    expect(policy && policyHash(policy)).toBe(BATCH.batch.policyHash)
    expect(policyHash(fundPolicy())).not.toBe(BATCH.batch.policyHash)
  })

  it.each<[string, unknown, string]>([
    ['nothing', null, 'format'],
    ['another format', { format: 'fairlead-batch-2' }, 'format'],
    ['a field more', { odd: 1 }, 'odd'],
    ['an id that is none', { batch_id: '0x12' }, 'batch_id'],
    ['a batch that is none', { batch: [] }, 'batch'],
    ['claims that are no list', { claims: {} }, 'claims'],
    ['a policy that is none', { policy: 7 }, 'policy'],
    ['a setting that is none', { policy: { economics: { cap: 'all' } } }, 'policy'],
    [
      'shares that do not add up',
      { policy: { economics: { split_bps: { ai: { fund: 0 } } } } },
      'policy',
    ],
  ])('SETTLE-17: %s is refused', (_, changes, field) => {
    const json = jsonOf(showSettledBatch(BATCH))
    expect(() => readSettlement(changes && { ...json, ...(changes as object) })).toThrow(
      expect.objectContaining({
        code: 'InvalidParams',
        details: expect.objectContaining({ field }),
      }),
    )
  })

  it('SETTLE-17: a refusal has the whole path of the field', () => {
    const json = jsonOf(showSettledBatch(BATCH)) as unknown as {
      batch: { totals: Record<string, unknown> }
      claims: Record<string, unknown>[]
      payouts: { split: Record<string, unknown> }[]
    }
    const read = (change: (copy: typeof json) => void) => () => {
      const copy = structuredClone(json)
      change(copy)
      return readSettlement(copy)
    }
    const path = (field: string) => expect.objectContaining({ details: { field } })
    expect(read((copy) => (copy.batch.totals['paid'] = -1))).toThrow(path('batch.totals.paid'))
    expect(read((copy) => (copy.batch.totals['debits'] = { a: 0.5 }))).toThrow(
      path('batch.totals.debits.a'),
    )
    expect(read((copy) => delete copy.claims[2]?.['gross'])).toThrow(path('claims[2].gross'))
    expect(read((copy) => delete copy.payouts[1]?.split['miner'])).toThrow(
      path('payouts[1].split.miner'),
    )
    expect(read((copy) => copy.claims.splice(0, 1, [] as never))).toThrow(path('claims[0]'))
  })
})

describe('SETTLE-18: the payouts of a provider', () => {
  const json = jsonOf(showPayoutProof(PROOF))
  const read = (changes: object = {}) =>
    readSettlement({ ...json, ...changes }) as PayoutProof & { format: string }
  const fieldOf = (proof: PayoutProof) => new BatchChain().checkPayouts(proof)?.field ?? null

  it('SETTLE-18: they read back as they were, and hold', () => {
    expect(Object.keys(json)).toEqual(['format', 'batch_id', 'batch', 'provider_id', 'payouts'])
    expect(read()).toEqual({ format: 'fairlead-payouts-1', ...PROOF })
    expect(PROOF.payouts).toHaveLength(3)
    expect(fieldOf(read())).toBeNull()
    expect(fieldOf(payoutProofOf(BATCH, 'provider:nobody'))).toBeNull()
  })

  it('SETTLE-18: what is not in the batch, or another’s, is found', () => {
    const [one, two] = PROOF.payouts
    if (one === undefined || two === undefined) throw new Error('it has three')
    const more = { ...one, line: { ...one.line, paidBefore: 1 } }
    const swapped = { ...one, siblings: two.siblings }
    expect(fieldOf({ ...PROOF, payouts: [more] })).toBe('payouts[0]')
    expect(fieldOf({ ...PROOF, payouts: [swapped] })).toBe('payouts[0]')
    expect(fieldOf({ ...PROOF, payouts: [one, one] })).toBe('payouts[1].claim_key')
    expect(fieldOf({ ...PROOF, providerId: OTHER })).toBe('payouts[0].provider_id')
    expect(fieldOf({ ...PROOF, batchId: BATCH.batch.payoutsRoot })).toBe('batch_id')
  })

  it.each<[object, string]>([
    [{ provider_id: 7 }, 'provider_id'],
    [{ claims: [] }, 'claims'],
    [{ payouts: [{ line: {} }] }, 'payouts[0].line.claim_key'],
    [
      { payouts: [{ ...(json['payouts'] as unknown as object[])[0], siblings: [{ side: 'up' }] }] },
      'payouts[0].siblings[0].side',
    ],
  ])('SETTLE-18: another form is refused (%#)', (changes, field) => {
    expect(() => read(changes)).toThrow(expect.objectContaining({ details: { field } }))
  })
})
