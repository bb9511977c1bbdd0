import { fc, test } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { callerNamed } from '../../test/any-market.ts'
import {
  OWNER,
  STRANGER,
  WITH_HEARTBEATS,
  WITHOUT_HEALTH,
  World,
  type Written,
} from '../../test/world.ts'
import { aiDemand } from '../enqueue/kinds.ts'
import type { Job } from '../market/job.ts'
import { classKey, type Provider } from '../registry/provider.ts'
import { PROVIDER_STATUSES } from '../registry/standing/status.ts'
import type { Refusal } from './eligibility.ts'
import { explainWaiting } from './explain-job.ts'

const WINDOW = { queue: { quotas: { requester_window: { jobs: 1, secs: 10 } } } }
const FAIR = { match: { fairness: 'tenant' } }

describe('what holds a waiting job', () => {
  it('EXPLAIN-1: it is ready as soon as one provider fits it', () => {
    const world = new World()
    const job = world.enqueue()
    world.a.status = 'JAILED'
    world.c.status = 'JAILED'
    expect(explain(world, job)).toMatchObject({ waitReason: 'ready', notBefore: null })
  })

  it('EXPLAIN-1: it waits for a provider while every one refuses it', () => {
    const world = new World()
    const job = world.enqueue()
    for (const provider of [world.a, world.b, world.c]) provider.status = 'JAILED'
    expect(explain(world, job)).toMatchObject({ waitReason: 'no_provider', notBefore: null })
    const { c } = world
    c.status = 'ACTIVE'
    expect(explain(world, job).waitReason).toBe('ready')
    // It takes one lease at a time.
    world.assign({ provider: c })
    expect(explain(world, job).waitReason).toBe('no_provider')
  })

  it('EXPLAIN-1: it is in backoff until its not_before, and then no more', () => {
    const world = new World()
    const { job } = world.fail(world.run())
    const notBefore = job.notBefore as number
    expect(notBefore).toBeGreaterThan(1_000)
    expect(explain(world, job)).toMatchObject({ waitReason: 'backoff', notBefore })
    world.at(notBefore - 1)
    expect(explain(world, job)).toMatchObject({ waitReason: 'backoff', notBefore })
    world.at(notBefore)
    expect(explain(world, job)).toMatchObject({ waitReason: 'ready', notBefore: null })
  })

  it('EXPLAIN-1: the backoff is told before the lack of a provider', () => {
    const world = new World()
    const { job } = world.fail(world.run())
    for (const provider of [world.a, world.b, world.c]) provider.status = 'JAILED'
    expect(explain(world, job).waitReason).toBe('backoff')
    world.at(job.notBefore as number)
    expect(explain(world, job).waitReason).toBe('no_provider')
  })

  it('EXPLAIN-1: a job that is ready is what the next round takes', () => {
    const world = new World({ queue: { quotas: { leases_max_per_provider: 1 } } })
    const jobs = Array.from({ length: 3 }, () => world.enqueue())
    expect(jobs.map((job) => explain(world, job).waitReason)).toEqual(['ready', 'ready', 'ready'])
    expect(world.round()).toHaveLength(3)
    expect(explain(world, world.enqueue()).waitReason).toBe('no_provider')
    expect(world.round()).toEqual([])
  })
})

describe('its place', () => {
  it('EXPLAIN-2: 1 is next, by score, enqueue_ts, enqueue_seq and id', () => {
    const world = new World({ match: { ties: 'arrival' } })
    const [first, second] = [world.enqueue({ enqueueSeq: 1 }), world.enqueue({ enqueueSeq: 1 })]
    const earlier = world.enqueue({ enqueueSeq: 0 })
    world.at(1)
    const later = world.enqueue()
    const rich = world.enqueue({ fee: 9n })
    const order = [rich, earlier, first, second, later]
    expect(order.map((job) => placeOf(world, job))).toEqual([1, 2, 3, 4, 5].map((n) => [n, 5]))
  })

  it('EXPLAIN-2: age moves it up', () => {
    const world = new World()
    const old = world.enqueue()
    world.at(600_000)
    // 100,000 is worth 720 s, 10,000 only 78.
    const rich = world.enqueue({ fee: 100_000n })
    const poor = world.enqueue({ fee: 10_000n })
    expect([rich, old, poor].map((job) => placeOf(world, job)[0])).toEqual([1, 2, 3])
  })

  it('EXPLAIN-2: only ready jobs of its kind count beside it', () => {
    const world = new World()
    const ahead = world.enqueue({ fee: 9n })
    const job = world.enqueue()
    world.enqueue({ kind: 'task', fee: 9n })
    expect(placeOf(world, job)).toEqual([2, 2])

    const failed = world.enqueue({ fee: 9n })
    world.fail(world.run({ job: failed }))
    expect(placeOf(world, job)).toEqual([2, 2])
    // Of its own backoff nothing is seen: it stands where it will stand.
    expect(placeOf(world, failed)).toEqual([2, 3])
    world.at(failed.notBefore as number)
    expect(placeOf(world, job)).toEqual([3, 3])

    world.assign({ job: ahead })
    expect(placeOf(world, job)).toEqual([2, 2])
  })

  it('EXPLAIN-2: by score all callers count, under fair shares its own alone', () => {
    const placed = (written: Written) => {
      const world = new World(written)
      world.enqueue({ caller: STRANGER, fee: 9n })
      world.enqueue({ fee: 8n })
      return placeOf(world, world.enqueue())
    }
    expect(placed({})).toEqual([3, 3])
    expect(placed(FAIR)).toEqual([2, 2])
  })

  it.each([
    ['by score', {}],
    ['under fair shares', FAIR],
  ])('EXPLAIN-2: %s the places of a caller are the order in which its jobs go', (_, written) => {
    const world = new World({ ...written, queue: { batch_size: 1 } })
    const fees = [3n, 1n, 4n, 1n, 5n, 9n, 2n, 6n]
    const jobs = fees.map((fee) => world.enqueue({ fee: fee * 1_000n }))
    const byPlace = jobs.toSorted((x, y) => placeOf(world, x)[0] - placeOf(world, y)[0])
    expect(jobs.map(() => world.round()[0])).toEqual(byPlace)
  })
})

describe('its score', () => {
  it('EXPLAIN-2: the score as shown, and its four terms at this time', () => {
    // The example of ORDER-2.
    const world = new World({}, { nowMs: 900 })
    const job = world.enqueue({ fee: 1_000_000n, sizeBytes: 16_384, tier: 'PRO' })
    const terms = { fee: 500_000, size: 500_000, tier: 300_000 }
    expect(explain(world, job)).toMatchObject({ at: 900, terms: { ...terms, ageSecs: 0 } })
    world.at(60_100)
    expect(explain(world, job)).toMatchObject({ job, at: 60_100, terms: { ...terms, ageSecs: 60 } })
    expect(explain(world, job).score).toBeCloseTo(0.359166, 5)
  })
})

describe('the providers', () => {
  it('EXPLAIN-2: each in order of id, with its first failing check or null', () => {
    const world = new World()
    const job = world.enqueue()
    world.a.health = 599
    world.a.cooldownUntil = 1_000
    world.assign({ provider: world.c })
    const free = { until: null, limit: null, advice: null }
    const advice = expect.stringContaining('599 of 1000')
    expect(explain(world, job).providers).toEqual([
      { ...free, id: world.a.id, refusal: 'unhealthy', slots: 16, advice },
      { ...free, id: world.b.id, refusal: null, slots: 16 },
      { ...free, id: world.c.id, refusal: 'lease_cap_reached', slots: 1 },
    ])
    world.at(1)
    world.a.health = 600
    expect(explain(world, job).providers[0]?.refusal).toBe('cooling_down')
  })

  it.each(PROVIDER_STATUSES)('EXPLAIN-2: one that is %s is listed too', (status) => {
    const world = new World()
    world.a.status = status
    const refusal = status === 'ACTIVE' ? null : 'provider_not_active'
    expect(explain(world, world.enqueue()).providers[0]).toMatchObject({ id: world.a.id, refusal })
  })

  it('EXPLAIN-2: what was charged to this job counts, and the units of this epoch', () => {
    const world = new World({ queue: { quotas: { ai_units_per_epoch: 2 } } })
    const lease = world.run()
    world.at(600_000)
    expect(lease.status).toBe('EXPIRED')
    expect(refusals(world, lease.job)).toEqual(['denied_for_job', null, null])
    const twoUnits = { demand: aiDemand('m', 200) }
    world.assign({ provider: world.b })
    const job = world.enqueue(twoUnits)
    expect(refusals(world, job)).toEqual([null, 'epoch_units_exhausted', null])
    world.at(3_600_000)
    expect(refusals(world, job)[1]).toBeNull()
  })

  it('EXPLAIN-2: a check that time alone opens has its time', () => {
    const world = new World({
      queue: { quotas: { ai_units_per_epoch: 2, requester_window: { jobs: 3, secs: 10 } } },
      registry: { attestation_required: { quantum: true } },
    })
    const untils = (job: Job) => explain(world, job).providers.map(({ until }) => until)
    const { a, b, c } = world
    const declined = world.run()
    world.decline(declined)
    a.attestation = { notBefore: 5, notAfter: 9 }
    b.attestation = { notBefore: -9, notAfter: 0 }
    expect(untils(world.enqueue({ kind: 'quantum' }))).toEqual([5, null, null])
    c.cooldownUntil = 7
    world.run({ provider: b })
    expect(untils(world.enqueue({ demand: aiDemand('m', 200) }))).toEqual([30_000, 3_600_000, 7])
    // It never fits.
    expect(untils(world.enqueue({ demand: aiDemand('n', 300) }))).toEqual([null, null, 7])
    world.at(10)
    declined.job.denials = new Map([[b.id, 60_000]])
    expect(untils(declined.job)).toEqual([30_000, 60_000, null])
    world.run({ provider: c })
    const job = world.enqueue({ demand: aiDemand('n', 100) })
    expect(refusals(world, job)[0]).toBe('requester_rate_limited')
    expect(untils(job)).toEqual([10_000, 10_000, null])
  })

  it('EXPLAIN-2: with its caller over the window every provider refuses', () => {
    const world = new World(WINDOW)
    world.assign()
    const own = world.enqueue()
    expect(refusals(world, own)).toEqual(Array(3).fill('requester_rate_limited'))
    expect(refusals(world, world.enqueue({ caller: STRANGER }))).toEqual([null, null, null])
  })
})

describe('its earliest time', () => {
  it('EXPLAIN-2: it is now if it could go now, and null where nobody knows', () => {
    const world = new World(WINDOW)
    world.at(500)
    const job = world.enqueue()
    expect(explain(world, job).earliestAt).toBe(500)
    for (const provider of [world.a, world.b, world.c]) provider.status = 'JAILED'
    expect(explain(world, job).earliestAt).toBeNull()
  })

  it('EXPLAIN-2: it is when the window of its caller frees up', () => {
    const world = new World(WINDOW)
    world.at(1_000)
    world.run()
    world.at(2_000)
    const job = world.enqueue()
    expect(explain(world, job)).toMatchObject({ waitReason: 'no_provider', earliestAt: 11_000 })
    expect(explain(world, world.enqueue({ caller: callerNamed(3) })).earliestAt).toBe(2_000)
    world.at(10_999)
    expect(world.round().map(({ caller }) => caller)).not.toContain(OWNER)
    world.at(11_000)
    expect(explain(world, job)).toMatchObject({ waitReason: 'ready', earliestAt: 11_000 })
    expect(world.round()).toEqual([job])
  })

  it('EXPLAIN-2: of a backoff and a full window the later end counts', () => {
    const world = new World(WINDOW)
    const { job } = world.fail(world.run())
    const notBefore = job.notBefore as number
    expect(notBefore).toBeLessThan(10_000)
    expect(explain(world, job)).toMatchObject({ waitReason: 'backoff', earliestAt: 10_000 })
    world.at(notBefore)
    expect(explain(world, job)).toMatchObject({ waitReason: 'no_provider', earliestAt: 10_000 })
  })

  it('EXPLAIN-2: a window of 0 jobs never frees up', () => {
    const requester_window = { jobs: 0, secs: 10 }
    const world = new World({ queue: { quotas: { requester_window } } })
    const explained = explain(world, world.enqueue())
    expect(explained).toMatchObject({ waitReason: 'no_provider', earliestAt: null })
    world.a.cooldownUntil = 7_000
    expect(explain(world, explained.job).earliestAt).toBeNull()
  })

  const ATTESTED = { registry: { attestation_required: { ai: true } } }
  const TWO_UNITS = { queue: { quotas: { ai_units_per_epoch: 2 } } }

  it.each<[Refusal, number, Written, (world: World, job: Job) => void]>([
    ['attestation_invalid', 7_000, ATTESTED, ({ a }) => attest(a, 7_000)],
    ['cooling_down', 7_000, {}, ({ a }) => cool(a, 7_000)],
    ['epoch_units_exhausted', 3_600_000, TWO_UNITS, useUnits],
    ['class_cooling_down', 7_000, {}, ({ a }) => coolClass(a, 7_000)],
    ['denied_for_job', 7_000, {}, ({ a }, job) => deny(job, a, 7_000)],
  ])(
    'EXPLAIN-2: where only %s is in the way it is the end of that',
    (refusal, end, written, set) => {
      const world = new World(written)
      for (const other of [world.b, world.c]) other.status = 'JAILED'
      const job = world.enqueue({ ttlAbsSecs: 86_400 })
      set(world, job)
      const waits = { waitReason: 'no_provider', providers: [{ refusal }, {}, {}], earliestAt: end }
      expect(explain(world, job)).toMatchObject(waits)
      world.at(end - 1)
      expect(explain(world, job)).toMatchObject(waits)
      expect(world.round()).toEqual([])
      world.at(end)
      expect(explain(world, job)).toMatchObject({ waitReason: 'ready', earliestAt: end })
      expect(world.round()).toEqual([job])
    },
  )

  it('EXPLAIN-2: of several providers the first counts, and one that fits is now', () => {
    const world = new World()
    const { a, b, c } = world
    const job = world.enqueue()
    cool(a, 9_000)
    deny(job, b, 8_000)
    cool(c, 9_000)
    expect(explain(world, job).earliestAt).toBe(8_000)
    c.cooldownUntil = null
    expect(explain(world, job).earliestAt).toBe(0)
  })

  it.each<[Refusal, Written, (world: World) => void]>([
    ['lease_cap_reached', {}, (world) => world.run({ provider: world.c })],
    ['heartbeat_stale', WITH_HEARTBEATS, ({ c }) => Object.assign(c, { lastHeartbeat: -180_001 })],
    ['unhealthy', {}, ({ c }) => Object.assign(c, { health: 590 })],
  ])('EXPLAIN-2: a provider with %s may take it at any moment', (refusal, written, set) => {
    const world = new World(written)
    const { a, b, c } = world
    const job = world.enqueue()
    cool(a, 8_000)
    cool(b, 9_000)
    set(world)
    expect(refusals(world, job)[2]).toBe(refusal)
    expect(explain(world, job).earliestAt).toBeNull()
    // But not before what is known to end later.
    deny(job, c, 7_000)
    expect(refusals(world, job)[2]).toBe(refusal)
    expect(explain(world, job).earliestAt).toBe(7_000)
    cool(c, 8_500)
    expect(explain(world, job).earliestAt).toBe(8_000)
  })

  it.each([
    { health: 599, leases: 0, creditedAt: null, from: 100_000 },
    { health: 590, leases: 0, creditedAt: null, from: 100_000 },
    { health: 589, leases: 0, creditedAt: null, from: 160_000 },
    { health: 599, leases: 0, creditedAt: 90_000, from: 150_000 },
    { health: 599, leases: 0, creditedAt: 40_000, from: 100_000 },
    { health: 560, leases: 0, creditedAt: 90_000, from: 330_000 },
    { health: 580, leases: 1, creditedAt: 90_000, from: 100_000 },
    { health: 579, leases: 1, creditedAt: 90_000, from: 150_000 },
    { health: 100, leases: 0, creditedAt: null, from: 3_040_000 },
  ])(
    'EXPLAIN-2: with health $health, $leases leases and credit at $creditedAt it is $from',
    ({ health, leases, creditedAt, from }) => {
      const world = new World()
      for (const other of [world.b, world.c]) other.status = 'JAILED'
      world.at(100_000)
      for (let i = 0; i < leases; i++) world.run()
      Object.assign(world.a, { health, creditedAt, lastHeartbeat: 99_000 })
      const { earliestAt, providers } = explain(world, world.enqueue())
      expect(providers[0]?.refusal).toBe('unhealthy')
      expect(earliestAt).toBe(from === 100_000 ? null : from)
    },
  )

  it('EXPLAIN-2: no heartbeats and completions bring the health back sooner', () => {
    const world = new World()
    for (const other of [world.b, world.c]) other.status = 'JAILED'
    const leases = [world.run(), world.run()]
    world.a.health = 520
    world.a.creditedAt = -10_000
    const job = world.enqueue()
    const earliest = explain(world, job).earliestAt as number
    for (const lease of leases) world.complete(lease)
    for (let now = 0; world.a.health < 600; now += 1_000) {
      world.beat(now)
      expect(world.a.health >= 600 && now < earliest).toBe(false)
    }
    expect(world.market.nowMs).toBe(earliest)
    expect(world.round()).toEqual([job])
  })

  it('EXPLAIN-2: a SUSPENDED provider does not count, whatever its health', () => {
    const world = new World()
    const job = world.enqueue()
    for (const provider of [world.a, world.b, world.c]) provider.status = 'SUSPENDED'
    world.a.health = 0
    cool(world.b, 9_000)
    expect(explain(world, job)).toMatchObject({ waitReason: 'no_provider', earliestAt: null })
    expect(explain(world, job).providers[0]?.advice).toContain('SUSPENDED')
  })

  it('EXPLAIN-2: without health no cooldown and no health counts', () => {
    const world = new World(WITHOUT_HEALTH)
    const { a, b, c } = world
    const job = world.enqueue()
    for (const other of [a, b]) other.status = 'JAILED'
    world.run({ provider: c })
    c.health = 0
    cool(c, 9_000)
    coolClass(c, 8_000)
    expect(refusals(world, job)[2]).toBe('lease_cap_reached')
    expect(explain(world, job).earliestAt).toBeNull()
    deny(job, c, 7_000)
    expect(explain(world, job).earliestAt).toBe(7_000)
  })

  it('EXPLAIN-2: a provider that never takes it does not count, whatever else it waits for', () => {
    const world = new World(WITH_HEARTBEATS)
    const { a, b, c } = world
    const job = world.enqueue()
    cool(a, 8_000)
    cool(b, 7_000)
    c.lastHeartbeat = -180_001
    expect(explain(world, job).earliestAt).toBeNull()
    c.offer = { ...c.offer, models: new Set(['other']) }
    expect(refusals(world, job)).toEqual(['cooling_down', 'cooling_down', 'heartbeat_stale'])
    expect(explain(world, job).earliestAt).toBe(7_000)
    b.offer = { ...b.offer, capabilities: new Set(['task']) }
    expect(explain(world, job).earliestAt).toBe(8_000)
    a.status = 'SUSPENDED'
    expect(explain(world, job).earliestAt).toBeNull()
  })

  it('EXPLAIN-2: of its backoff and the first provider the later counts', () => {
    const world = new World()
    const { a, b, c } = world
    const { job } = world.fail(world.run())
    const notBefore = job.notBefore as number
    const earliestWith = (deniedUntil: number) => {
      job.denials = new Map([a, b, c].map(({ id }) => [id, deniedUntil]))
      return explain(world, job).earliestAt
    }
    expect(earliestWith(notBefore - 1)).toBe(notBefore)
    expect(earliestWith(notBefore + 1)).toBe(notBefore + 1)
    world.at(notBefore)
    expect(explain(world, job)).toMatchObject({ waitReason: 'no_provider' })
    expect(world.round()).toEqual([])
    world.at(notBefore + 1)
    expect(world.round()).toEqual([job])
  })

  it('EXPLAIN-2: the end of its backoff stays where a provider is busy, or none can take it', () => {
    // The example of EXPLAIN-2.
    const world = new World({ queue: { quotas: { leases_max_per_provider: 1 } } })
    const { a, b, c } = world
    const { job } = world.fail(world.run())
    const notBefore = job.notBefore as number
    world.run({ provider: a })
    deny(job, a, 60_000)
    cool(b, 90_000)
    c.status = 'JAILED'
    expect(explain(world, job)).toMatchObject({ waitReason: 'backoff', earliestAt: 60_000 })
    c.status = 'ACTIVE'
    world.run({ provider: c })
    expect(explain(world, job)).toMatchObject({ waitReason: 'backoff', earliestAt: notBefore })
    for (const provider of [a, b, c]) provider.status = 'JAILED'
    expect(explain(world, job)).toMatchObject({ waitReason: 'backoff', earliestAt: notBefore })
    for (const provider of [a, b, c]) provider.status = 'ACTIVE'
    world.at(notBefore)
    expect(explain(world, job)).toMatchObject({ waitReason: 'no_provider', earliestAt: null })
  })

  const ends = fc.array(fc.integer({ min: -1, max: 9 }), { minLength: 10, maxLength: 10 })

  test.prop([ends])('EXPLAIN-2: where all ends are known, it goes then and not before', (given) => {
    const world = new World()
    const job = world.enqueue()
    let used = 0
    const next = () => given[used++] as number
    for (const provider of [world.a, world.b, world.c]) {
      cool(provider, next())
      coolClass(provider, next())
      deny(job, provider, next())
    }
    job.notBefore = next()
    const { earliestAt } = explain(world, job)
    const fitsAt = (at: number) => {
      world.at(at)
      return explain(world, job).waitReason === 'ready'
    }
    expect(earliestAt).toBe([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].find(fitsAt))
  })

  it('EXPLAIN-2: a lease that ran out denies its provider for longer than the backoff', () => {
    const world = new World()
    for (const other of [world.b, world.c]) other.status = 'JAILED'
    const { job } = world.run()
    world.at(600_000)
    expect(job.notBefore).toBeLessThan(660_000)
    expect(explain(world, job)).toMatchObject({ waitReason: 'backoff', earliestAt: 660_000 })
    world.at(659_999)
    expect(world.round()).toEqual([])
    world.at(660_000)
    expect(world.round()).toEqual([job])
  })

  it('EXPLAIN-2, ADMIT-6: a limit counts also where its provider is busy, one that is too small never', () => {
    const admit = [{ requirements: [{ key: 'rpm:{provider}', amount: 2 }] }]
    const world = new World({ admit } as unknown as Written)
    const { a, b, c } = world
    const { limits } = world.market
    const define = ({ id }: Provider, capacity: number) =>
      limits.define({ key: `rpm:${id}`, kind: 'fixed', capacity, windowSecs: 60 }, 0)
    define(a, 1)
    define(b, 3)
    define(c, 3)
    const job = world.enqueue()
    expect(explain(world, job)).toMatchObject({ waitReason: 'ready', earliestAt: 0 })
    for (const { id } of [b, c]) limits.reserve(id, [{ key: `rpm:${id}`, amount: 2 }], 0)
    expect(explain(world, job)).toMatchObject({ waitReason: 'budget', earliestAt: 60_000 })
    c.offer = { ...c.offer, leasesMax: 0 }
    expect(refusals(world, job)).toEqual([
      'limit_exhausted',
      'limit_exhausted',
      'lease_cap_reached',
    ])
    expect(explain(world, job).earliestAt).toBe(60_000)
    cool(b, 70_000)
    deny(job, c, 65_000)
    expect(explain(world, job).earliestAt).toBe(65_000)
  })
})

function attest(provider: Provider, notBefore: number): void {
  provider.attestation = { notBefore, notAfter: Number.MAX_SAFE_INTEGER }
}

function cool(provider: Provider, until: number): void {
  provider.cooldownUntil = until
}

function coolClass(provider: Provider, until: number): void {
  const ofClass = { kind: 'ai', model: 'm' } as const
  provider.classCooldowns.set(classKey(ofClass.kind, ofClass.model), { ...ofClass, until })
}

function deny(job: Job, { id }: Provider, until: number): void {
  job.denials = new Map([...(job.denials ?? []), [id, until]])
}

/** Two of kind ai, at provider a. */
function useUnits(world: World): void {
  world.complete(world.run({ job: world.enqueue({ demand: aiDemand('m', 200) }) }))
}

function explain({ market }: World, job: Job) {
  return explainWaiting(market, job)
}

function placeOf(world: World, job: Job): [place: number, of: number] {
  const { place, of } = explain(world, job)
  return [place, of]
}

function refusals(world: World, job: Job): (string | null)[] {
  return explain(world, job).providers.map(({ refusal }) => refusal)
}
