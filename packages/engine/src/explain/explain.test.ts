import {
  aiDemand,
  callerOf,
  dispatchRound,
  enqueueJob,
  type JobId,
  type JobRow,
  type Lease,
  type LeaseRow,
  newProvider,
  openMarket,
  type ProviderId,
  pairHash,
  parsePolicy,
  registerProvider,
  type Seed,
} from '@fairlead/core'
import type { RoundRow } from '@fairlead/core/internal'
import { test } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { roundRow } from '../projector/round-row.ts'
import { ATTEMPTS_EXPLAINED, explainAssigned } from './explain.ts'

const NOW = 1_760_000_000_000
const SEED = `0x${'5'.repeat(64)}` as Seed

interface Given {
  readonly order: RoundRow['order']
  readonly providers: readonly {
    readonly leasesMax: number
    readonly models: readonly string[]
    readonly stake: number
  }[]
  readonly jobs: readonly string[]
}

/** Up to 30 providers, of which a round keeps 20. */
const NOTHING_SAID = { failures: [], timeline: [] }

function anyGiven(providersMax = 30): fc.Arbitrary<Given> {
  const provider = fc.record({
    leasesMax: fc.constantFrom(0, 1, 1, 2, 3),
    models: fc.subarray(['m1', 'm2'], { minLength: 1 }),
    stake: fc.constantFrom(1, 1, 1, 2, 3),
  })
  return fc.record({
    order: fc.constantFrom('first-fit', 'rotate', 'score'),
    providers: fc.array(provider, { minLength: 1, maxLength: providersMax, size: 'max' }),
    jobs: fc.array(fc.constantFrom('m1', 'm2'), { minLength: 1, maxLength: 30, size: 'max' }),
  })
}

/** One round, as it is kept, and the order in which each of its jobs asked all the providers. */
function play({ order, providers, jobs }: Given) {
  const registry = { min_stake: { ai: 0 } }
  const policy = parsePolicy({ match: { order }, registry }, 'queue')
  const market = openMarket({ policy, nowMs: NOW, emit: () => {} })
  for (const [i, { leasesMax, models, stake }] of providers.entries()) {
    const id = `provider:${String(i).padStart(2, '0')}` as ProviderId
    const offer = { capabilities: new Set(['ai'] as const), models: new Set(models), leasesMax }
    const given = { id, offer, stake: BigInt(stake), lastHeartbeat: NOW }
    registerProvider(market, newProvider(given))
  }
  for (const [i, model] of jobs.entries()) {
    enqueueJob(market, {
      id: `0x${String(i).padStart(64, '0')}` as JobId,
      kind: 'ai',
      caller: callerOf('acme'),
      tier: 'FREE',
      fee: 0n,
      sizeBytes: 1,
      demand: aiDemand(model, 100),
      regions: null,
      ttlAbsSecs: null,
      enqueueSeq: i,
    })
  }
  const { rounds, leases } = dispatchRound(market, SEED)
  const [round] = rounds
  const shuffled = (round?.providerOrder(1_000) ?? []).map(({ id }) => id)
  const worth = (id: ProviderId) => Number(market.pool.get(id)?.stake)
  const asked = leases.map(({ job }, i) => {
    if (order === 'score') {
      const hash = (id: ProviderId) => pairHash(job.id, id, SEED)
      return shuffled.toSorted((a, b) => worth(b) - worth(a) || (hash(a) < hash(b) ? -1 : 1))
    }
    const last = order === 'rotate' ? leases[i - 1]?.provider.id : undefined
    const start = last === undefined ? 0 : shuffled.indexOf(last) + 1
    return [...shuffled.slice(start), ...shuffled.slice(0, start)]
  })
  const row = round && roundRow(round, { market, rounds, height: 7, seed: SEED })
  return { row, leases, asked, providers }
}

function explained(row: RoundRow, lease: Pick<Lease, 'job' | 'provider'>) {
  const leaseRow = { jobId: lease.job.id, providerId: lease.provider.id, round: row.height }
  const job = { status: 'RUNNING', proofAwaitedSince: null } as JobRow
  const leases = [leaseRow as LeaseRow]
  const { attempts } = explainAssigned({ job, leases, rounds: [row], ...NOTHING_SAID, at: NOW })
  const round = attempts[0]?.round
  if (!round) throw new Error('the round is kept')
  return round
}

describe('who was passed over', () => {
  test.prop([anyGiven(19)])(
    'EXPLAIN-5: is whoever was asked before, in that order, each with its refusal',
    (given) => {
      const { row, leases, asked } = play(given)
      for (const [i, lease] of leases.entries()) {
        const { place, passedOver } = explained(row as RoundRow, lease)
        const order = asked[i] as ProviderId[]
        const before = order.slice(0, order.indexOf(lease.provider.id))
        expect(passedOver.map(({ providerId }) => providerId)).toEqual(before)
        expect(place).toBe(before.length + 1)
        for (const { refusal } of passedOver) {
          expect(['lease_cap_reached', 'model_unsupported']).toContain(refusal)
        }
      }
    },
  )

  test.prop([anyGiven()])(
    'EXPLAIN-5: of many providers those are told that are kept, and never one too many',
    (given) => {
      const { row, leases, asked } = play(given)
      for (const [i, lease] of leases.entries()) {
        const { place, passedOver, providers } = explained(row as RoundRow, lease)
        const order = asked[i] as ProviderId[]
        const before = order.slice(0, order.indexOf(lease.provider.id))
        const told = passedOver.map(({ providerId }) => providerId)
        expect(before.filter((id) => told.includes(id))).toEqual(told)
        expect(passedOver.every(({ refusal }) => refusal !== null)).toBe(true)
        if (place !== null) expect(place).toBe(before.length + 1)
        if (given.order === 'first-fit') {
          expect(told).toEqual(before.filter((id) => providers.includes(id)))
          expect(place === null).toBe(!providers.includes(lease.provider.id))
        }
      }
    },
  )

  it('EXPLAIN-3: under score the providers are kept by rank', () => {
    const stakes = [1, 3, 2, 3]
    const providers = stakes.map((stake) => ({ leasesMax: 1, models: ['m1'], stake }))
    const { row } = play({ order: 'score', providers, jobs: ['m1'] })
    expect(row?.order).toBe('score')
    expect(row?.providers.map((id) => id.slice(-1))).toEqual(['1', '3', '2', '0'])
    expect(row?.ranks).toEqual([0, 0, 1, 2])
    expect(play({ order: 'rotate', providers, jobs: ['m1'] }).row?.ranks).toBeNull()
  })

  it('EXPLAIN-3: the first twenty are kept, whatever the order', () => {
    const providers = Array.from({ length: 25 }, () => ({ leasesMax: 1, models: ['m1'], stake: 1 }))
    for (const order of ['first-fit', 'rotate', 'score'] as const) {
      const { row } = play({ order, providers, jobs: ['m1'] })
      expect(row?.providers).toHaveLength(20)
      expect(row?.ranks?.length ?? 20).toBe(20)
    }
  })

  it('EXPLAIN-5: without a list its reason is null', () => {
    const row: RoundRow = {
      height: 1,
      kind: 'ai',
      at: NOW,
      seed: SEED,
      batchDigest: SEED,
      batchSize: 9,
      order: 'first-fit',
      providers: ['provider:a', 'provider:b'] as ProviderId[],
      ranks: null,
      assignments: [['0x1' as JobId, 'provider:b' as ProviderId, null]],
      refusals: [],
    }
    const lease = { job: { id: '0x1' }, provider: { id: 'provider:b' } } as Lease
    expect(explained(row, lease).passedOver).toEqual([{ providerId: 'provider:a', refusal: null }])
  })
})

it('EXPLAIN-4: the newest twenty attempts are explained, the others counted', () => {
  const leases = Array.from(
    { length: 23 },
    (_, attempt) => ({ attempt, round: attempt }) as LeaseRow,
  )
  const job = { status: 'RUNNING', proofAwaitedSince: null } as JobRow
  const { attempts, attemptsBefore } = explainAssigned({
    job,
    leases,
    rounds: [],
    ...NOTHING_SAID,
    at: NOW,
  })
  expect(attempts.map(({ lease }) => lease.attempt)).toEqual(
    Array.from({ length: ATTEMPTS_EXPLAINED }, (_, i) => i + 3),
  )
  expect(attempts.every(({ round }) => round === null)).toBe(true)
  expect(attemptsBefore).toBe(3)
})
