import { describe, expect, it, test } from 'vitest'
import { advanceMarket } from '../advance-market.ts'
import { enqueueJob } from '../enqueue/enqueue-job.ts'
import { aiDemand, type Demand, type KindName, quantumDemand } from '../enqueue/kinds.ts'
import { FairleadError } from '../errors.ts'
import type { Caller, JobId, LeaseId, ProviderId, Seed } from '../ids.ts'
import type { Job } from '../job.ts'
import { type Market, type MarketEvent, openMarket } from '../market.ts'
import { completeLease, settleProof } from '../outcome/complete-lease.ts'
import { cancelJob } from '../outcome/end-job.ts'
import { failLease } from '../outcome/fail-lease.ts'
import { parsePolicy } from '../policy.ts'
import { newProvider, type Provider } from '../registry/provider.ts'
import { registerProvider } from '../registry/provider-status.ts'
import { issueLease } from './issue-lease.ts'
import type { Lease } from './lease.ts'
import { ackLease, declineLease, type LeaseCall, releaseLease, renewLease } from './lease-calls.ts'

const DIGEST = `0x${'d'.repeat(64)}`
const OWNER = `0x${'c'.repeat(64)}` as Caller
const STRANGER = `0x${'e'.repeat(64)}` as Caller

describe('ack', () => {
  it('LEASE-3: one ms before the timeout the ack makes the job RUNNING', () => {
    const world = new World()
    const lease = world.assign()
    world.at(4_999)
    ackLease(world.market, world.by(lease))
    expect(lease).toMatchObject({ status: 'ACTIVE', isAcked: true })
    expect(lease.job).toMatchObject({ status: 'RUNNING', retries: 0 })
    world.at(5_000)
    expect(lease.status).toBe('ACTIVE')
  })

  it('LEASE-3: at the timeout it comes too late: the lease is CANCELLED and the job charged', () => {
    const world = new World()
    const lease = world.assign()
    world.at(5_000)
    expect(refusal(() => ackLease(world.market, world.by(lease)))).toBe('LeaseNotLive')
    expect(lease).toMatchObject({ status: 'CANCELLED', isAcked: false })
    expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 1 })
    expect(world.a).toMatchObject({ health: 950, failures: 1, liveLeases: 0 })
  })

  it('LEASE-3: a second ack answers as the first and changes nothing', () => {
    const world = new World()
    const lease = world.assign()
    ackLease(world.market, world.by(lease))
    const events = world.events.length
    expect(ackLease(world.market, world.by(lease))).toBe(lease)
    expect(world.events).toHaveLength(events)
    expect(lease.job.status).toBe('RUNNING')
  })

  it('STATE-6: an ack timeout that is noticed late counts from its own time', () => {
    const world = new World()
    const { job } = world.assign()
    world.at(60_000)
    expect(world.events.find(({ type }) => type === 'jobRequeued')?.at).toBe(5_000)
    expect([9_000, 10_000, 11_000]).toContain(job.notBefore)
  })
})

describe('renewal', () => {
  it('LEASE-12: a lease that was not acked cannot be renewed', () => {
    const world = new World()
    const lease = world.assign()
    expect(refusal(() => renewLease(world.market, world.by(lease)))).toBe('InvalidState')
    expect(lease).toMatchObject({ status: 'ACTIVE', renewals: 0, tDeadline: 600_000 })
  })

  test.each([
    { at: 359_999, health: 1_000 },
    { at: 360_000, health: 1_000 },
    { at: 360_001, health: 990 },
    { at: 599_999, health: 990 },
  ])('LEASE-11: a renewal at $at ms, with renew_by at 360,000, leaves health $health', (row) => {
    const world = new World()
    const lease = world.run()
    world.at(row.at)
    renewLease(world.market, world.by(lease))
    expect(lease).toMatchObject({ status: 'RENEWED', renewals: 1, tDeadline: 900_000 })
    expect(world.a.health).toBe(row.health)
  })

  it('LEASE-6: at the deadline a renewal is refused, and the lease is EXPIRED', () => {
    const world = new World()
    const lease = world.run()
    world.at(600_000)
    expect(refusal(() => renewLease(world.market, world.by(lease)))).toBe('LeaseNotLive')
    expect(lease).toMatchObject({ status: 'EXPIRED', renewals: 0 })
    expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 1 })
    expect(world.a.health).toBe(850)
  })

  it('LEASE-10: while more than T is left a renewal changes nothing', () => {
    const world = new World()
    const lease = world.run()
    world.at(100_000)
    for (let i = 0; i < 4; i++) renewLease(world.market, world.by(lease))
    expect(lease).toMatchObject({ renewals: 1, tDeadline: 900_000 })

    world.at(299_999)
    renewLease(world.market, world.by(lease))
    expect(lease).toMatchObject({ renewals: 1, tDeadline: 900_000 })

    world.at(300_000)
    renewLease(world.market, world.by(lease))
    expect(lease).toMatchObject({ renewals: 2, tDeadline: 1_200_000 })
  })

  it('LEASE-5: over the cap it is RenewalsExhausted, costs nothing, and the lease runs on', () => {
    const world = new World({ queue: { lease: { renewals_max: 1 } } })
    const lease = world.run()
    renewLease(world.market, world.by(lease))
    world.at(899_999)
    expect(refusal(() => renewLease(world.market, world.by(lease)))).toBe('RenewalsExhausted')
    expect(lease).toMatchObject({ status: 'RENEWED', renewals: 1, tDeadline: 900_000 })
    expect(world.a.health).toBe(1_000)
    world.at(900_000)
    expect(lease.status).toBe('EXPIRED')
  })

  it('LEASE-10: even over the cap a renewal is accepted while more than T is left', () => {
    const world = new World({ queue: { lease: { renewals_max: 1 } } })
    const lease = world.run()
    renewLease(world.market, world.by(lease))
    world.at(299_999)
    expect(refusal(() => renewLease(world.market, world.by(lease)))).toBeNull()
    world.at(300_000)
    expect(refusal(() => renewLease(world.market, world.by(lease)))).toBe('RenewalsExhausted')
  })

  it('HEALTH-2: the late renewal that takes the last health is taken, and then the lease is lost', () => {
    const world = new World()
    const lease = world.run()
    world.a.health = 10
    world.at(360_001)
    renewLease(world.market, world.by(lease))
    expect(world.a).toMatchObject({ status: 'SUSPENDED', health: 0, liveLeases: 0 })
    expect(lease).toMatchObject({ status: 'CANCELLED', renewals: 1 })
    expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 0, notBefore: null })
  })
})

describe('decline', () => {
  test.each([false, true])('RETRY-5: nothing is charged, acked or not (%s)', (isAcked) => {
    const world = new World()
    const lease = isAcked ? world.run() : world.assign()
    declineLease(world.market, world.by(lease))
    expect(lease.status).toBe('CANCELLED')
    expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 0, notBefore: null, declines: 1 })
    expect(world.a).toMatchObject({ health: 1_000, failures: 0, liveLeases: 0 })
    expect(world.classCooldowns()).toEqual([{ kind: 'ai', model: 'm', until: 30_000 }])
  })

  it('RETRY-8: a declined quantum job cools the whole kind down', () => {
    const world = new World()
    const lease = world.assign(world.enqueue('quantum'))
    declineLease(world.market, world.by(lease))
    expect(world.classCooldowns()).toEqual([{ kind: 'quantum', model: null, until: 30_000 }])
  })

  it('RETRY-5: from the third decline on it is the job that is denied, for 600 s', () => {
    const world = new World()
    const job = world.enqueue()
    for (const now of [0, 1_000]) {
      world.at(now)
      declineLease(world.market, world.by(world.assign(job)))
    }
    expect(job.denials?.get(world.a.id) ?? null).toBeNull()
    world.at(2_000)
    declineLease(world.market, world.by(world.assign(job)))
    expect(job.denials?.get(world.a.id)).toBe(602_000)
    expect(world.classCooldowns()).toEqual([{ kind: 'ai', model: 'm', until: 31_000 }])
  })

  it('RETRY-5: declines of all providers count together', () => {
    const world = new World()
    const job = world.enqueue()
    for (const provider of [world.a, world.b, world.b])
      declineLease(world.market, world.by(world.assign(job, provider)))
    expect(job.declines).toBe(3)
    expect(job.denials).toEqual(new Map([[world.b.id, 600_000]]))
  })

  it('RETRY-5: the fifteenth decline leaves the job waiting, the sixteenth ends it', () => {
    const world = new World()
    const job = world.enqueue()
    for (let i = 1; i <= 15; i++) declineLease(world.market, world.by(world.assign(job)))
    expect(job).toMatchObject({ status: 'QUEUED', declines: 15, retries: 0, reason: null })

    declineLease(world.market, world.by(world.assign(job)))
    expect(job).toMatchObject({ status: 'FAILED', reason: 'declined', retries: 0, endedAt: 0 })
    expect(world.a).toMatchObject({ health: 1_000, failures: 0, liveLeases: 0 })
  })

  it('RETRY-4: a denial is never shortened', () => {
    const world = new World()
    const job = world.enqueue()
    for (let i = 0; i < 3; i++) declineLease(world.market, world.by(world.assign(job)))
    world.at(1_000)
    const lease = world.assign(job)
    ackLease(world.market, world.by(lease))
    world.at(601_000 - 1)
    expect(job.denials?.get(world.a.id)).toBe(600_000)
    world.at(601_000)
    expect(lease.status).toBe('EXPIRED')
    expect(job.denials?.get(world.a.id)).toBe(661_000)

    const early = new World({ queue: { lease: { ai_secs: 10 } } })
    const other = early.enqueue()
    for (let i = 0; i < 3; i++) declineLease(early.market, early.by(early.assign(other)))
    ackLease(early.market, early.by(early.assign(other)))
    early.at(10_000)
    expect(other).toMatchObject({ status: 'QUEUED', retries: 1 })
    expect(other.denials?.get(early.a.id)).toBe(600_000)
  })
})

describe('giving back', () => {
  test.each([false, true])(
    'LEASE-9: queued at once, nothing charged, acked or not (%s)',
    (isAcked) => {
      const world = new World()
      const lease = isAcked ? world.run() : world.assign()
      releaseLease(world.market, world.by(lease))
      expect(lease.status).toBe('CANCELLED')
      expect(lease.job).toMatchObject({
        status: 'QUEUED',
        retries: 0,
        notBefore: null,
        declines: 0,
      })
      expect(world.a).toMatchObject({ health: 1_000, failures: 0, liveLeases: 0 })
      expect(world.classCooldowns()).toEqual([])
      expect(world.units()).toBe(0)
    },
  )
})

describe('completion', () => {
  it('STATE-9: a completion implies the ack, up to one ms before the ack timeout', () => {
    const world = new World()
    const lease = world.assign()
    world.at(4_999)
    completeLease(world.market, { ...world.by(lease), digest: DIGEST, actualUnits: null })
    expect(lease).toMatchObject({ status: 'COMPLETED', digest: DIGEST })
    expect(lease.job).toMatchObject({ status: 'COMPLETED', endedAt: 4_999, reason: null })
  })

  test.each([
    { at: 599_999, error: null },
    { at: 600_000, error: 'LeaseNotLive' },
  ])('LEASE-6: at $at ms of 600,000 a completion gives $error', ({ at, error }) => {
    const world = new World()
    const lease = world.run()
    world.at(at)
    const completion = { ...world.by(lease), digest: DIGEST, actualUnits: null }
    expect(refusal(() => completeLease(world.market, completion))).toBe(error)
    expect(lease.status).toBe(error === null ? 'COMPLETED' : 'EXPIRED')
  })

  it('COMPLETE-1: the same digest again answers as the first time, another is refused', () => {
    const world = new World()
    const lease = world.run()
    const completion = { ...world.by(lease), digest: DIGEST, actualUnits: 3 }
    completeLease(world.market, completion)
    expect(completeLease(world.market, { ...completion, actualUnits: 9 })).toBe(lease)
    expect(world.units()).toBe(3)
    const other = { ...completion, digest: `0x${'f'.repeat(64)}` }
    expect(refusal(() => completeLease(world.market, other))).toBe('LeaseNotLive')
    expect(world.a.health).toBe(1_000)
  })

  test.each([
    { actualUnits: null, units: 2 },
    { actualUnits: 0, units: 0 },
    { actualUnits: 7, units: 7 },
  ])('QUOTA-2: after a completion with $actualUnits units of 2 estimated, $units count', (row) => {
    const world = new World()
    const lease = world.assign(world.enqueue('ai', aiDemand('m', 101)))
    expect(world.units()).toBe(2)
    completeLease(world.market, {
      ...world.by(lease),
      digest: DIGEST,
      actualUnits: row.actualUnits,
    })
    expect(world.units()).toBe(row.units)
  })

  it('QUOTA-6: units count in the epoch of the assignment, however late the lease ends', () => {
    const world = new World()
    world.at(3_599_999)
    const [kept, returned] = [world.run(), world.run()]
    world.at(3_600_000)
    completeLease(world.market, { ...world.by(kept), digest: DIGEST, actualUnits: 5 })
    releaseLease(world.market, world.by(returned))
    expect(world.units(0)).toBe(5)
    expect(world.units(1)).toBe(0)
  })

  test.each([
    ['0x', 1],
    [`0x${'d'.repeat(62)}`, 1],
    [`0x${'d'.repeat(66)}`, 1],
    [`0x${'D'.repeat(64)}`, 1],
    ['d'.repeat(64), 1],
    [DIGEST, -1],
    [DIGEST, 0.5],
    [DIGEST, Number.NaN],
    [DIGEST, 2 ** 53],
  ])('COMPLETE-3: the digest %s with %s units is InvalidParams', (digest, actualUnits) => {
    const world = new World()
    const lease = world.run()
    const completion = { ...world.by(lease), digest, actualUnits }
    expect(refusal(() => completeLease(world.market, completion))).toBe('InvalidParams')
    expect(lease.status).toBe('ACTIVE')
  })

  it('COMPLETE-6: with a proof the provider earns when it is valid, not before', () => {
    const world = new World(WITH_PROOF)
    world.a.health = 900
    world.a.failures = 2
    const lease = world.run()
    completeLease(world.market, { ...world.by(lease), digest: DIGEST, actualUnits: null })
    expect(lease.status).toBe('COMPLETED')
    expect(lease.job.status).toBe('RUNNING')
    expect(world.a).toMatchObject({ health: 900, failures: 2, liveLeases: 0 })

    settleProof(world.market, lease.job, true)
    expect(lease.job.status).toBe('COMPLETED')
    expect(world.a).toMatchObject({ health: 920, failures: 0 })
    expect(refusal(() => settleProof(world.market, lease.job, true))).toBe('InvalidState')
  })

  test.each([
    { at: 599_999, status: 'RUNNING', retries: 0, health: 1_000 },
    { at: 600_000, status: 'QUEUED', retries: 1, health: 700 },
  ])('COMPLETE-2: $at ms after the completion a job without proof is $status', (row) => {
    const world = new World(WITH_PROOF)
    const lease = world.run()
    completeLease(world.market, { ...world.by(lease), digest: DIGEST, actualUnits: null })
    world.at(row.at)
    expect(lease.job).toMatchObject({ status: row.status, retries: row.retries })
    expect(world.a.health).toBe(row.health)
    expect(lease.job.denials?.get(world.a.id)).toBe(row.retries === 0 ? undefined : 660_000)
    expect(lease.status).toBe('COMPLETED')
  })
})

describe('fail', () => {
  test.each([false, true])(
    'RETRY-2: a fail charges job and provider, acked or not (%s)',
    (isAcked) => {
      const world = new World()
      const lease = isAcked ? world.run() : world.assign()
      failLease(world.market, { ...world.by(lease), code: 'oom', permanent: false })
      expect(lease.status).toBe('CANCELLED')
      expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 1 })
      expect([4_000, 5_000, 6_000]).toContain(lease.job.notBefore)
      expect(lease.job.denials).toBeNull()
      expect(world.a).toMatchObject({ health: 900, failures: 1, liveLeases: 0 })
      expect(world.units()).toBe(0)
    },
  )

  it('RETRY-6: the fifth charge leaves the job waiting, the sixth ends it', () => {
    const world = new World()
    const job = world.enqueue()
    for (let i = 1; i <= 6; i++) {
      expect(job).toMatchObject({ status: 'QUEUED', retries: i - 1 })
      world.at(job.notBefore ?? 0)
      const lease = world.assign(job)
      failLease(world.market, { ...world.by(lease), code: 'oom', permanent: false })
    }
    expect(job).toMatchObject({ status: 'FAILED', retries: 6, reason: 'retries_exhausted' })
    expect(job.attempt).toBe(5)
  })

  test.each([
    { charge: 'ACK_TIMEOUT', status: 'EXPIRED' },
    { charge: 'LEASE_EXPIRED', status: 'EXPIRED' },
    { charge: 'PROVIDER_FAIL', status: 'FAILED' },
    { charge: 'PROOF_INVALID', status: 'FAILED' },
  ])('RETRY-6: the last retry used up by $charge ends the job as $status', ({ charge, status }) => {
    const proof = charge === 'PROOF_INVALID' ? WITH_PROOF.queue : {}
    const world = new World({ queue: { ...proof, retries: { attempt_max: 1 } } })
    const lease = charge === 'ACK_TIMEOUT' ? world.assign() : world.run()
    const by = world.by(lease)
    if (charge === 'PROVIDER_FAIL')
      failLease(world.market, { ...by, code: 'oom', permanent: false })
    if (charge === 'PROOF_INVALID') {
      completeLease(world.market, { ...by, digest: DIGEST, actualUnits: null })
      settleProof(world.market, lease.job, false)
    }
    world.at(600_000)
    expect(lease.job).toMatchObject({ status, retries: 1, reason: 'retries_exhausted' })
  })

  it('RETRY-7: a permanent error ends the job at once, and still counts', () => {
    const world = new World()
    const lease = world.run()
    failLease(world.market, { ...world.by(lease), code: 'unsupported', permanent: true })
    expect(lease.job).toMatchObject({ status: 'FAILED', retries: 1, reason: 'permanent_error' })
    expect(world.a).toMatchObject({ health: 900, failures: 1 })
  })
})

describe('the order of checks', () => {
  const calls: Readonly<Record<string, (market: Market, call: LeaseCall) => unknown>> = {
    ack: ackLease,
    renew: renewLease,
    decline: declineLease,
    release: releaseLease,
    complete: (market, call) =>
      completeLease(market, { ...call, digest: DIGEST, actualUnits: null }),
    fail: (market, call) => failLease(market, { ...call, code: 'oom', permanent: false }),
  }
  const ends: Readonly<Record<string, (world: World, lease: Lease) => void>> = {
    cancelled: (world, lease) => releaseLease(world.market, world.by(lease)),
    expired: (world) => world.at(600_000),
    completed: (world, lease) =>
      completeLease(world.market, {
        ...world.by(lease),
        digest: `0x${'0'.repeat(64)}`,
        actualUnits: null,
      }),
  }

  test.each(Object.keys(calls))('STATE-8: %s of an unknown lease is NotFound', (name) => {
    const world = new World()
    const call = { leaseId: `0x${'9'.repeat(64)}` as LeaseId, by: world.a.id }
    expect(refusal(() => calls[name]?.(world.market, call))).toBe('NotFound')
  })

  test.each(Object.keys(calls))('LEASE-8: %s by another than the holder is Forbidden', (name) => {
    const world = new World()
    const lease = world.run()
    const call = { leaseId: lease.id, by: world.b.id }
    expect(refusal(() => calls[name]?.(world.market, call))).toBe('Forbidden')
    expect(lease).toMatchObject({ status: 'ACTIVE', renewals: 0 })
  })

  const pairs = Object.keys(calls).flatMap((call) => Object.keys(ends).map((end) => [call, end]))
  test.each(pairs)(
    'STATE-8: %s of a lease that is %s: Forbidden, then LeaseNotLive',
    (name, end) => {
      const world = new World()
      const lease = world.run()
      ends[end as string]?.(world, lease)
      const before = { status: lease.status, job: lease.job.status, events: world.events.length }
      const call = calls[name as string]
      expect(refusal(() => call?.(world.market, { leaseId: lease.id, by: world.b.id }))).toBe(
        'Forbidden',
      )
      expect(refusal(() => call?.(world.market, world.by(lease)))).toBe('LeaseNotLive')
      expect({ status: lease.status, job: lease.job.status, events: world.events.length }).toEqual(
        before,
      )
    },
  )

  it('STATE-8: parameters are checked before anything else', () => {
    const world = new World()
    const unknown = { leaseId: `0x${'9'.repeat(64)}` as LeaseId, by: world.a.id }
    expect(
      refusal(() => completeLease(world.market, { ...unknown, digest: '0x', actualUnits: null })),
    ).toBe('InvalidParams')
    expect(refusal(() => failLease(world.market, { ...unknown, code: '', permanent: false }))).toBe(
      'InvalidParams',
    )
  })

  it('STATE-5: only the requester and an operator cancel a job, and only once', () => {
    const world = new World()
    const lease = world.run()
    const { job } = lease
    expect(refusal(() => cancelJob(world.market, job, STRANGER))).toBe('Forbidden')
    expect(job.status).toBe('RUNNING')
    cancelJob(world.market, job, OWNER)
    expect(job).toMatchObject({ status: 'CANCELED', retries: 0, reason: null })
    expect(lease.status).toBe('CANCELLED')
    expect(world.a).toMatchObject({ health: 1_000, failures: 0, liveLeases: 0 })
    expect(refusal(() => cancelJob(world.market, job, STRANGER))).toBe('Forbidden')
    expect(refusal(() => cancelJob(world.market, job, OWNER))).toBe('InvalidState')
    expect(refusal(() => cancelJob(world.market, world.enqueue(), 'operator'))).toBeNull()
  })
})

const WITH_PROOF = { queue: { completion: { ai_verification: 'proof' } } }

/** Two providers from time 0 on; their heartbeats play no part. */
class World {
  readonly events: MarketEvent[] = []
  readonly market: Market
  readonly a: Provider
  readonly b: Provider
  #named = 0

  constructor(written: object = {}) {
    const registry = { heartbeat_timeout_ms: 31_536_000_000 }
    const policy = parsePolicy({ ...written, registry }, 'fund')
    this.market = openMarket({ policy, nowMs: 0, emit: (event) => this.events.push(event) })
    this.a = newProvider({ id: 'provider:a' as ProviderId, lastHeartbeat: 0 })
    this.b = newProvider({ id: 'provider:b' as ProviderId, lastHeartbeat: 0 })
    registerProvider(this.market, this.a)
    registerProvider(this.market, this.b)
  }

  at(nowMs: number): void {
    advanceMarket(this.market, nowMs)
  }

  enqueue(kind: KindName = 'ai', demand: Demand = demandOf(kind)): Job {
    return enqueueJob(this.market, {
      id: this.#name() as JobId,
      kind,
      caller: OWNER,
      tier: 'FREE',
      fee: 0n,
      sizeBytes: 1_000,
      demand,
      regions: null,
      ttlAbsSecs: null,
      enqueueSeq: 0,
    })
  }

  assign(job: Job = this.enqueue(), provider: Provider = this.a): Lease {
    return issueLease(this.market, job, provider, this.#name() as Seed)
  }

  /** A new job, assigned and acked. */
  run(): Lease {
    const lease = this.assign()
    return ackLease(this.market, this.by(lease))
  }

  by(lease: Lease): LeaseCall {
    return { leaseId: lease.id, by: lease.provider.id }
  }

  /** Of kind ai, taken from provider a. */
  units(epoch = 0): number {
    return this.a.units.get('ai')?.get(epoch) ?? 0
  }

  classCooldowns(): object[] {
    return [...this.a.classCooldowns.values()]
  }

  #name(): string {
    return `0x${(++this.#named).toString(16).padStart(64, '0')}`
  }
}

function demandOf(kind: KindName): Demand {
  return kind === 'quantum' ? quantumDemand(1_000, 0) : aiDemand('m', 100)
}

function refusal(call: () => unknown): string | null {
  try {
    call()
    return null
  } catch (error) {
    if (error instanceof FairleadError) return error.code
    throw error
  }
}
