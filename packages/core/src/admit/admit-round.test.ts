import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyContest, anyMarket, CALLERS, realMarket } from '../../test/any-market.ts'
import { type PlainLimit, type PlainMarket, plainRound } from '../../test/plain-round.ts'
import { OWNER, STRANGER, World, type Written } from '../../test/world.ts'
import { aiDemand } from '../enqueue/kinds.ts'
import { MarketLimits } from '../limits/market-limits.ts'
import { nextClaimAt } from '../market/advance-market.ts'
import type { Job } from '../market/job.ts'
import { explainWaiting } from '../match/explain-job.ts'
import { matchRound } from '../match/match-round.ts'
import { AdmitRound } from './admit-round.ts'
import { admitRulesOf } from './admit-rules.ts'

/** `npm run test:long` takes more runs. */
const IS_LONG = Boolean(process.env['LONG_TESTS'])

const TOKENS = { kind: 'ai', requirements: [{ key: 'tpm', amount: 'tokens' }] }

describe('a round with limits', () => {
  it('ADMIT-3: what is given is held at once, under the id of the lease', () => {
    const world = limited([TOKENS], 1_000)
    const jobs = [400, 500, 300, 50].map((tokens) => asking(world, tokens))
    expect(world.round()).toEqual(jobs.slice(0, 2))
    expect(world.market.limits.get('tpm', 0)?.held).toBe(900)
    for (const lease of world.market.leases.values()) {
      const again = world.market.limits.reserve(
        lease.id,
        [{ key: 'tpm', amount: lease.job.tokens }],
        0,
      )
      expect(again).toMatchObject({ allowed: true, reservedAtUnixMs: 0 })
    }
  })

  it('ADMIT-4: a large job is not passed by small ones that need the same limit', () => {
    const world = limited([TOKENS], 1_000)
    const [first, large, small] = [900, 400, 50].map((tokens) => asking(world, tokens))
    expect(world.round()).toEqual([first])
    for (const lease of world.market.leases.values()) world.ack(lease)
    expect(world.round()).toEqual([])
    expect(nextClaimAt(world.market)).toBe(60_000)
    expect(explainWaiting(world.market, large as Job).providers[0]?.limit).toEqual({
      key: 'tpm',
      reason: 'exhausted',
      amount: 400,
      until: 60_000,
    })
    expect(explainWaiting(world.market, small as Job)).toMatchObject({
      waitReason: 'budget',
      earliestAt: 60_000,
      providers: [
        { refusal: 'limit_exhausted', limit: { reason: 'waited_for', key: 'tpm' } },
        {},
        {},
      ],
    })
    world.at(59_999)
    expect(world.round()).toEqual([])
    world.at(60_000)
    expect(world.round()).toEqual([large, small])
    expect(nextClaimAt(world.market)).toBeNull()
  })

  it('ADMIT-4: jobs that need other limits, or none, are not held up', () => {
    const perModel = { kind: 'ai', requirements: [{ key: 'tpm:{model}', amount: 'tokens' }] }
    const world = limited([perModel], 100, ['tpm:m1', 'tpm:m2'])
    asking(world, 100)
    const held = asking(world, 100)
    const other = asking(world, 60, { demand: aiDemand('m2', 60) })
    const task = world.enqueue({ kind: 'task' })
    expect(world.round()).toHaveLength(3)
    expect([held.status, other.status, task.status]).toEqual(['QUEUED', 'ASSIGNED', 'ASSIGNED'])
  })

  it('ADMIT-4: a job that waits longest for a limit of its own claims no other', () => {
    const rules = [
      { requirements: [{ key: 'all', amount: 1 }] },
      { caller: OWNER, requirements: [{ key: 'own', amount: 1 }] },
    ]
    const world = new World(policyWith(rules))
    const { limits } = world.market
    limits.define({ key: 'all', kind: 'fixed', capacity: 1, windowSecs: 1 }, 0)
    limits.define({ key: 'own', kind: 'fixed', capacity: 1, windowSecs: 3_600 }, 0)
    limits.reserve(
      'outside',
      [
        { key: 'all', amount: 1 },
        { key: 'own', amount: 1 },
      ],
      0,
    )
    const own = world.enqueue()
    const other = world.enqueue({ caller: STRANGER })
    expect(world.round()).toEqual([])
    world.at(1_000)
    expect(world.round()).toEqual([other])
    expect(own.status).toBe('QUEUED')
  })

  it('ADMIT-4: a job that can never fit holds up nobody', () => {
    const world = limited([TOKENS], 100)
    const huge = asking(world, 101)
    const next = asking(world, 100)
    expect(world.round()).toEqual([next])
    expect(explainWaiting(world.market, huge)).toMatchObject({
      waitReason: 'budget',
      earliestAt: null,
      providers: [{ limit: { reason: 'too_large', amount: 101, until: null } }, {}, {}],
    })
  })

  it('ADMIT-4: a job whose limit is not defined waits, and goes once it is', () => {
    const world = new World(policyWith([TOKENS]))
    const job = asking(world, 10)
    expect(world.round()).toEqual([])
    expect(explainWaiting(world.market, job).providers[0]?.limit).toMatchObject({
      reason: 'unknown',
    })
    world.market.limits.define({ key: 'tpm', kind: 'fixed', capacity: 10, windowSecs: 60 }, 0)
    expect(world.round()).toEqual([job])
  })

  it('ADMIT-2: a key may name the provider: one that is full sends the job to another', () => {
    const rules = [{ requirements: [{ key: 'slots:{provider}', amount: 1 }] }]
    const world = new World(policyWith(rules))
    const { limits } = world.market
    for (const { id } of [world.a, world.b, world.c]) {
      const capacity = id === world.b.id ? 2 : 1
      limits.define({ key: `slots:${id}`, kind: 'concurrency', capacity, timeoutSecs: 60 }, 0)
    }
    for (let i = 0; i < 6; i++) world.enqueue()
    expect(world.round()).toHaveLength(4)
    const of = (id: string) => [...world.market.leases.values()].filter((l) => l.provider.id === id)
    expect([world.a, world.b, world.c].map(({ id }) => of(id).length)).toEqual([1, 2, 1])
  })

  it('ADMIT-5: actual tokens take the place of the estimate, and what is free is used at once', () => {
    const world = limited([TOKENS, { requirements: [{ key: 'rpm', amount: 1 }] }], 1_000, [
      'tpm',
      'rpm',
    ])
    const [, second] = [900, 800].map((tokens) => asking(world, tokens))
    world.round()
    const [lease] = [...world.market.leases.values()]
    if (lease === undefined) throw new Error('nothing was given')
    world.ack(lease)
    world.complete(lease, { actualTokens: 150 })
    const held = (key: string) => world.market.limits.get(key, 0)?.held
    expect([held('tpm'), held('rpm')]).toEqual([150, 1])
    expect(world.round()).toEqual([second])
  })

  it('LIMIT-19: absurd actual tokens count 16 times the estimate, or the capacity, and free the rest', () => {
    const world = limited(
      [
        TOKENS,
        {
          kind: 'ai',
          requirements: [
            { key: 'tpm', amount: 7 },
            { key: 'slots', amount: 1 },
          ],
        },
      ],
      1_000,
    )
    const { limits } = world.market
    limits.define({ key: 'slots', kind: 'concurrency', capacity: 1, timeoutSecs: 600 }, 0)
    asking(world, 300)
    world.round()
    const [lease] = [...world.market.leases.values()]
    if (lease === undefined) throw new Error('nothing was given')
    world.ack(lease)
    world.complete(lease, { actualTokens: Number.MAX_SAFE_INTEGER })
    expect([limits.get('tpm', 0)?.held, limits.get('slots', 0)?.held]).toEqual([16 * 307, 0])
  })

  it('ADMIT-5: a lease that ends otherwise keeps what it reserved, and frees its concurrency', () => {
    const world = limited([TOKENS, { requirements: [{ key: 'slots', amount: 1 }] }], 1_000)
    const { limits } = world.market
    limits.define({ key: 'slots', kind: 'concurrency', capacity: 1, timeoutSecs: 600 }, 0)
    asking(world, 300)
    world.round()
    const [lease] = [...world.market.leases.values()]
    if (lease === undefined) throw new Error('nothing was given')
    world.ack(lease)
    world.fail(lease)
    expect([limits.get('tpm', 0)?.held, limits.get('slots', 0)?.held]).toEqual([300, 0])
  })
})

describe('against nested loops', () => {
  it('ADMIT-3: a round with limits is what the rules say, word for word', () => {
    const market = fc.oneof(anyMarket(), anyContest())
    fc.assert(
      fc.property(market, anyRules(), anyLimits(), (plain, admit, limits) => {
        roundAsTheRulesSay({ ...plain, limits, policy: { ...plain.policy, admit } })
      }),
      { numRuns: IS_LONG ? 1_500 : 500 },
    )
  })
})

function roundAsTheRulesSay(market: PlainMarket): void {
  const { now: nowMs, seed, policy } = market
  const rules = admitRulesOf(policy)
  const limits = new MarketLimits(16)
  for (const [key, { capacity, windowSecs, held }] of Object.entries(market.limits ?? {})) {
    limits.define({ key, kind: 'fixed', capacity, windowSecs }, nowMs)
    if (held > 0) limits.reserve(`held-${key}`, [{ key, amount: held }], nowMs)
  }
  const admit = rules && new AdmitRound({ rules, limits, nowMs })
  const rounds = matchRound({ ...realMarket(market), nowMs, seed, policy, admit })
  const got = rounds.map(({ kind, assignments }) => ({
    kind,
    pairs: assignments.map(({ job, provider }) => [job.id, provider.id]),
  }))
  const want = plainRound(market).map(({ kind, assignments }) => ({
    kind,
    pairs: assignments.map(({ job, provider }) => [job.id, provider.id]),
  }))
  expect(got).toEqual(want)
}

function anyRules(): fc.Arbitrary<PlainMarket['policy']['admit']> {
  const requirement = fc.record({
    key: fc.constantFrom('x', 'x', 'y', 'm:{model}', 'c:{caller}', 'p:{provider}'),
    amount: fc.constantFrom(1, 1, 2),
  })
  const tokens = fc.record({
    key: fc.constantFrom('t', 't', 'u'),
    amount: fc.constant('tokens' as const),
  })
  const of = <T>(value: T) =>
    fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, fc.constant(value))
  const rule = fc.record({
    kind: of('task' as const),
    model: of('m1'),
    providerId: of('provider:a'),
    caller: of(CALLERS[0] as string),
    requirements: fc.array(requirement, { minLength: 1, maxLength: 2 }),
  })
  const ai = fc.record({
    kind: fc.constant('ai' as const),
    model: of('m1'),
    providerId: of('provider:b'),
    caller: of(CALLERS[1] as string),
    requirements: fc.array(tokens, { minLength: 1, maxLength: 2 }),
  })
  return fc.array(fc.oneof(rule, ai, ai), { minLength: 1, maxLength: 4 })
}

function anyLimits(): fc.Arbitrary<Record<string, PlainLimit>> {
  const keys = [
    'x',
    'y',
    ...['m1', 'm2', 'm3'].map((model) => `m:${model}`),
    ...CALLERS.map((caller) => `c:${caller}`),
    ...['a', 'b', 'c', 'd', 'e'].map((name) => `p:provider:${name}`),
  ]
  const limit = (most: number) =>
    fc
      .record({
        capacity: fc.integer({ min: 1, max: most }),
        windowSecs: fc.constantFrom(60, 60, 3_600),
        part: fc.constantFrom(0, 0, 0.5, 1),
      })
      .map(({ capacity, windowSecs, part }) => ({
        capacity,
        windowSecs,
        held: Math.floor(capacity * part),
      }))
  const counts = fc.record(Object.fromEntries(keys.map((key) => [key, limit(4)])))
  const tokens = fc.record({ t: limit(700), u: limit(1_500) })
  return fc.tuple(counts, tokens).map(([a, b]) => ({ ...a, ...b }))
}

function policyWith(admit: readonly object[]): Written {
  return { admit, match: { ties: 'arrival' } }
}

/** A world with these rules, and fixed windows of a minute. */
function limited(admit: readonly object[], capacity: number, keys = ['tpm']): World {
  const world = new World(policyWith(admit))
  for (const key of keys) {
    world.market.limits.define({ key, kind: 'fixed', capacity, windowSecs: 60 }, 0)
  }
  return world
}

let asked = 0

function asking(world: World, tokens: number, given: Parameters<World['enqueue']>[0] = {}): Job {
  return world.enqueue({ demand: aiDemand('m1', tokens), enqueueSeq: ++asked, ...given })
}
