import { describe, expect, it, test } from 'vitest'
import { refusal } from '../../test/refusal.ts'
import {
  callOf,
  DIGEST,
  OWNER,
  STRANGER,
  WITH_PROOF,
  WITHOUT_HEALTH,
  World,
} from '../../test/world.ts'
import type { LeaseId } from '../encoding/ids.ts'
import { aiDemand } from '../enqueue/kinds.ts'
import type { Market } from '../market/market.ts'
import { cancelJob } from '../outcome/cancel-job.ts'
import { completeLease, decideProof } from '../outcome/complete-lease.ts'
import { failLease } from '../outcome/fail-lease.ts'
import { type Lease, renewBy } from './lease.ts'
import { ackLease, declineLease, type LeaseCall, releaseLease, renewLease } from './lease-calls.ts'

describe('ack', () => {
  it('LEASE-3: one ms before the timeout the ack makes the job RUNNING', () => {
    const world = new World()
    const lease = world.assign()
    world.at(4_999)
    world.ack(lease)
    expect(lease).toMatchObject({ status: 'ACTIVE', isAcked: true })
    expect(lease.job).toMatchObject({ status: 'RUNNING', retries: 0 })
    world.at(5_000)
    expect(lease.status).toBe('ACTIVE')
  })

  it('LEASE-3: at the timeout it comes too late: the lease is CANCELLED and the job charged', () => {
    const world = new World()
    const lease = world.assign()
    world.at(5_000)
    expect(refusal(() => world.ack(lease))).toBe('LeaseNotLive')
    expect(lease).toMatchObject({ status: 'CANCELLED', isAcked: false })
    expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 1 })
    expect(world.a).toMatchObject({ health: 950, failures: 1, liveLeases: 0 })
  })

  it('LEASE-3: a second ack answers as the first and changes nothing', () => {
    const world = new World()
    const lease = world.assign()
    world.ack(lease)
    const events = world.events.length
    expect(world.ack(lease)).toBe(lease)
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
    expect(refusal(() => world.renew(lease))).toBe('InvalidState')
    expect(lease).toMatchObject({ status: 'ACTIVE', renewals: 0, tDeadline: 600_000 })
  })

  it('LEASE-4: the table of the example, line by line', () => {
    const world = new World()
    const lease = world.run()
    // biome-ignore format: a table
    const rows = [
      { at:   100_000, left: 500_000, tDeadline:   900_000, renewBy:   660_000, renewals: 1 },
      { at:   299_000, left: 601_000, tDeadline:   900_000, renewBy:   660_000, renewals: 1 },
      { at:   300_000, left: 600_000, tDeadline: 1_200_000, renewBy:   960_000, renewals: 2 },
      { at:   800_000, left: 400_000, tDeadline: 1_500_000, renewBy: 1_260_000, renewals: 3 },
      { at: 1_201_000, left: 299_000, tDeadline: 1_800_000, renewBy: 1_560_000, renewals: 4 },
    ]
    const seen = rows.map(({ at }) => {
      world.at(at)
      const left = lease.tDeadline - at
      const { tDeadline, renewals } = world.renew(lease)
      return { at, left, tDeadline, renewBy: renewBy(lease), renewals }
    })
    expect(seen).toEqual(rows)
    expect(lease.status).toBe('RENEWED')
    expect(world.a.health).toBe(1_000)
    const told = world.events.filter(({ type }) => type === 'leaseRenewed')
    const made = rows.filter(({ at }) => at !== 299_000)
    expect(told).toEqual(
      made.map(({ at, tDeadline: deadline }) => {
        return { type: 'leaseRenewed', at, leaseId: lease.id, deadline }
      }),
    )
  })

  it.each([
    { beta: 0.001, adds: 7 },
    { beta: 0.333, adds: 2_331 },
    { beta: 1, adds: 7_000 },
  ])('LEASE-4: with β $beta a renewal of 7 s adds $adds ms', ({ beta, adds }) => {
    const world = new World({ queue: { lease: { ai_secs: 7, renew_beta: beta } } })
    expect(world.renew(world.run()).tDeadline).toBe(7_000 + adds)
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
    world.renew(lease)
    expect(lease).toMatchObject({ status: 'RENEWED', renewals: 1, tDeadline: 900_000 })
    expect(world.a.health).toBe(row.health)
  })

  it('LEASE-6: at the deadline a renewal is refused, and the lease is EXPIRED', () => {
    const world = new World()
    const lease = world.run()
    world.at(600_000)
    expect(refusal(() => world.renew(lease))).toBe('LeaseNotLive')
    expect(lease).toMatchObject({ status: 'EXPIRED', renewals: 0 })
    expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 1 })
    expect(world.a.health).toBe(850)
  })

  it('LEASE-10: while more than T is left a renewal changes nothing', () => {
    const world = new World()
    const lease = world.run()
    world.at(100_000)
    for (let i = 0; i < 4; i++) world.renew(lease)
    expect(lease).toMatchObject({ renewals: 1, tDeadline: 900_000 })

    world.at(299_999)
    world.renew(lease)
    expect(lease).toMatchObject({ renewals: 1, tDeadline: 900_000 })

    world.at(300_000)
    world.renew(lease)
    expect(lease).toMatchObject({ renewals: 2, tDeadline: 1_200_000 })
  })

  it('LEASE-5: over the cap it is RenewalsExhausted, costs nothing, and the lease runs on', () => {
    const world = new World({ queue: { lease: { renewals_max: 1 } } })
    const lease = world.run()
    world.renew(lease)
    world.at(899_999)
    expect(refusal(() => world.renew(lease))).toBe('RenewalsExhausted')
    expect(lease).toMatchObject({ status: 'RENEWED', renewals: 1, tDeadline: 900_000 })
    expect(world.a.health).toBe(1_000)
    world.at(900_000)
    expect(lease.status).toBe('EXPIRED')
  })

  it('LEASE-10: even over the cap a renewal is accepted while more than T is left', () => {
    const world = new World({ queue: { lease: { renewals_max: 1 } } })
    const lease = world.run()
    world.renew(lease)
    world.at(299_999)
    expect(refusal(() => world.renew(lease))).toBeNull()
    world.at(300_000)
    expect(refusal(() => world.renew(lease))).toBe('RenewalsExhausted')
  })

  it('LEASE-5: without a cap a lease lives as long as its worker renews it', () => {
    const world = new World({
      queue: {
        lease: { renewals_max: null },
        ttl: { rel_max_secs: null, abs_default_ai_secs: 9_000_000 },
      },
    })
    const lease = world.run()
    for (let i = 1; i <= 2_000; i++) {
      world.at(300_000 * i)
      expect(world.renew(lease)).toMatchObject({ status: 'RENEWED', renewals: i })
    }
    expect(lease.tDeadline).toBe(600_000 + 2_000 * 300_000)
    world.at(lease.tDeadline)
    expect(lease.status).toBe('EXPIRED')
  })

  it('LEASE-1: the cap, or the lack of one, is that of when the lease was issued', () => {
    const world = new World({ queue: { lease: { renewals_max: null } } })
    const free = world.run()
    world.policy({ queue: { lease: { renewals_max: 0 } } })
    const bound = world.run()
    world.at(300_000)
    expect(refusal(() => world.renew(free))).toBeNull()
    expect(refusal(() => world.renew(bound))).toBe('RenewalsExhausted')
  })

  it('HEALTH-2: the late renewal that takes the last health is taken, and then the lease is lost', () => {
    const world = new World()
    const lease = world.run()
    world.a.health = 10
    world.at(360_001)
    world.renew(lease)
    expect(world.a).toMatchObject({ status: 'SUSPENDED', health: 0, liveLeases: 0 })
    expect(lease).toMatchObject({ status: 'CANCELLED', renewals: 1 })
    expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 0, notBefore: null })
  })
})

describe('decline', () => {
  test.each([false, true])('RETRY-5: nothing is charged, acked or not (%s)', (isAcked) => {
    const world = new World()
    const lease = isAcked ? world.run() : world.assign()
    world.decline(lease)
    expect(lease.status).toBe('CANCELLED')
    expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 0, notBefore: null, declines: 1 })
    expect(world.a).toMatchObject({ health: 1_000, failures: 0, liveLeases: 0 })
    expect(cooldownsOf(world)).toEqual([{ kind: 'ai', model: 'm', until: 30_000 }])
  })

  it('RETRY-8: a declined quantum job cools the whole kind down', () => {
    const world = new World()
    const lease = world.assign({ job: world.enqueue({ kind: 'quantum' }) })
    world.decline(lease)
    expect(cooldownsOf(world)).toEqual([{ kind: 'quantum', model: null, until: 30_000 }])
  })

  it('RETRY-5: from the third decline on it is the job that is denied, for 600 s', () => {
    const world = new World()
    const job = world.enqueue()
    for (const now of [0, 1_000]) {
      world.at(now)
      world.decline(world.assign({ job }))
    }
    expect(job.denials?.get(world.a.id) ?? null).toBeNull()
    world.at(2_000)
    world.decline(world.assign({ job }))
    expect(job.denials?.get(world.a.id)).toBe(602_000)
    expect(cooldownsOf(world)).toEqual([{ kind: 'ai', model: 'm', until: 31_000 }])
  })

  it('RETRY-5: declines of all providers count together', () => {
    const world = new World()
    const job = world.enqueue()
    for (const provider of [world.a, world.b, world.b])
      world.decline(world.assign({ job, provider }))
    expect(job.declines).toBe(3)
    expect(job.denials).toEqual(new Map([[world.b.id, 600_000]]))
  })

  it('RETRY-5: the fifteenth decline leaves the job waiting, the sixteenth ends it', () => {
    const world = new World()
    const job = world.enqueue()
    for (let i = 1; i <= 15; i++) world.decline(world.assign({ job }))
    expect(job).toMatchObject({ status: 'QUEUED', declines: 15, retries: 0, reason: null })

    world.decline(world.assign({ job }))
    expect(job).toMatchObject({ status: 'FAILED', reason: 'declined', retries: 0, endedAt: 0 })
    expect(world.a).toMatchObject({ health: 1_000, failures: 0, liveLeases: 0 })
  })

  it('RETRY-5: without health it denies this job to the provider for 30 s, and nothing else', () => {
    const world = new World(WITHOUT_HEALTH)
    const job = world.enqueue()
    for (let i = 0; i < 5; i++) {
      world.at(1_000 * i)
      world.decline(world.assign({ job }))
      expect(job.denials).toEqual(new Map([[world.a.id, 1_000 * i + 30_000]]))
    }
    expect(job).toMatchObject({ status: 'QUEUED', retries: 0, notBefore: null, declines: 5 })
    expect(cooldownsOf(world)).toEqual([])
    // Others of its class go to the same provider at once.
    for (const other of [world.b, world.c]) other.status = 'JAILED'
    const next = world.enqueue()
    expect(world.round()).toEqual([next])
    world.complete(next.leases?.[0] as Lease)
    world.at(33_999)
    expect(world.round()).toEqual([])
    world.at(34_000)
    expect(world.round()).toEqual([job])
  })

  it('RETRY-5: without health too the sixteenth decline ends the job', () => {
    const world = new World(WITHOUT_HEALTH)
    const job = world.enqueue()
    for (let i = 1; i <= 15; i++) world.decline(world.assign({ job }))
    expect(job.status).toBe('QUEUED')
    world.decline(world.assign({ job }))
    expect(job).toMatchObject({ status: 'FAILED', reason: 'declined' })
  })

  it('RETRY-4: a denial is never shortened', () => {
    const world = new World()
    const job = world.enqueue()
    for (let i = 0; i < 3; i++) world.decline(world.assign({ job }))
    world.at(1_000)
    const lease = world.assign({ job })
    world.ack(lease)
    world.at(601_000 - 1)
    expect(job.denials?.get(world.a.id)).toBe(600_000)
    world.at(601_000)
    expect(lease.status).toBe('EXPIRED')
    expect(job.denials?.get(world.a.id)).toBe(661_000)

    const early = new World({ queue: { lease: { ai_secs: 10 } } })
    const other = early.enqueue()
    for (let i = 0; i < 3; i++) early.decline(early.assign({ job: other }))
    early.ack(early.assign({ job: other }))
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
      world.release(lease)
      expect(lease.status).toBe('CANCELLED')
      expect(lease.job).toMatchObject({
        status: 'QUEUED',
        retries: 0,
        notBefore: null,
        declines: 0,
      })
      expect(world.a).toMatchObject({ health: 1_000, failures: 0, liveLeases: 0 })
      expect(cooldownsOf(world)).toEqual([])
      expect(world.units()).toBe(0)
    },
  )
})

describe('completion', () => {
  it('STATE-9: a completion implies the ack, up to one ms before the ack timeout', () => {
    const world = new World()
    const lease = world.assign()
    world.at(4_999)
    world.complete(lease)
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
    expect(refusal(() => world.complete(lease))).toBe(error)
    expect(lease.status).toBe(error === null ? 'COMPLETED' : 'EXPIRED')
  })

  test.each(['ai', 'quantum', 'task'] as const)(
    'COMPLETE-4: unless a proof is asked for, a completion ends lease and job of kind %s at once',
    (kind) => {
      const others = ['ai', 'quantum'].filter((other) => other !== kind)
      const proofs = others.map((other) => [`${other}_verification`, 'proof'])
      const world = new World({ queue: { completion: Object.fromEntries(proofs) } })
      const lease = world.run({ job: world.enqueue({ kind }) })
      world.at(1_000)
      world.complete(lease)
      expect(lease.status).toBe('COMPLETED')
      expect(lease.job).toMatchObject({
        status: 'COMPLETED',
        endedAt: 1_000,
        reason: null,
        proofAwaitedSince: null,
      })
      expect(refusal(() => decideProof(world.market, lease.job, true))).toBe('InvalidState')
    },
  )

  const LATE: Readonly<Record<string, (world: World, lease: Lease) => unknown>> = {
    expired: (world) => world.at(600_000),
    'given back': (world, lease) => world.release(lease),
    failed: (world, lease) => world.fail(lease),
    'lost with its job': ({ market }, { job }) => cancelJob(market, job, OWNER),
    'completed with another digest': (world, lease) =>
      world.complete(lease, { digest: `0x${'0'.repeat(64)}` }),
  }
  test.each(Object.keys(LATE))(
    'COMPLETE-5: the completion of a lease that was %s is LeaseNotLive and changes nothing',
    (end) => {
      const world = new World()
      const lease = world.run()
      LATE[end]?.(world, lease)
      const before = viewOf(world, lease)
      expect(refusal(() => world.complete(lease, { actualUnits: 9 }))).toBe('LeaseNotLive')
      expect(viewOf(world, lease)).toEqual(before)
    },
  )

  test.each(['live', ...Object.keys(LATE), 'completed'])(
    'COMPLETE-5: that of another provider, of a lease that is %s, is Forbidden and changes nothing',
    (end) => {
      const world = new World()
      const lease = world.run()
      LATE[end]?.(world, lease)
      if (end === 'completed') world.complete(lease)
      const before = viewOf(world, lease)
      const foreign = { by: world.b.id, actualUnits: 9 }
      expect(refusal(() => world.complete(lease, foreign))).toBe('Forbidden')
      expect(viewOf(world, lease)).toEqual(before)
    },
  )

  it('COMPLETE-5: nor does the late one touch the attempt that came after it', () => {
    const world = new World()
    const late = world.run()
    world.release(late)
    const next = world.run({ job: late.job, provider: world.b })
    expect(refusal(() => world.complete(late))).toBe('LeaseNotLive')
    expect(next).toMatchObject({ status: 'ACTIVE', digest: null })
    expect(late.job.status).toBe('RUNNING')
    expect(world.complete(next).status).toBe('COMPLETED')
  })

  it('COMPLETE-1: the same digest again answers as the first time, another is refused', () => {
    const world = new World()
    const lease = world.run()
    world.complete(lease, { actualUnits: 3 })
    expect(world.complete(lease, { actualUnits: 9 })).toBe(lease)
    expect(world.units()).toBe(3)
    const other = { digest: `0x${'f'.repeat(64)}`, actualUnits: 3 }
    expect(refusal(() => world.complete(lease, other))).toBe('LeaseNotLive')
    expect(world.a.health).toBe(1_000)
  })

  test.each([
    { actualUnits: null, units: 2 },
    { actualUnits: 0, units: 0 },
    { actualUnits: 7, units: 7 },
  ])('QUOTA-2: after a completion with $actualUnits units of 2 estimated, $units count', (row) => {
    const world = new World()
    const lease = world.assign({ job: world.enqueue({ demand: aiDemand('m', 101) }) })
    expect(world.units()).toBe(2)
    world.complete(lease, { digest: DIGEST, actualUnits: row.actualUnits })
    expect(world.units()).toBe(row.units)
  })

  it('QUOTA-6: units count in the epoch of the assignment, however late the lease ends', () => {
    const world = new World()
    world.at(3_599_999)
    const [kept, returned] = [world.run(), world.run()]
    world.at(3_600_000)
    world.complete(kept, { actualUnits: 5 })
    world.release(returned)
    expect(world.units(0)).toBe(5)
    expect(world.units(1)).toBe(0)
  })

  test.each([
    ['0x', 1],
    [`0x${'d'.repeat(62)}`, 1],
    [`0x${'d'.repeat(66)}`, 1],
    [`0x${'D'.repeat(64)}`, 1],
    ['d'.repeat(64), 1],
    ['', 1],
    [DIGEST, -1],
    [DIGEST, 0.5],
    [DIGEST, Number.NaN],
    [DIGEST, 2 ** 53],
  ])('COMPLETE-3: the digest %s with %s units is InvalidParams', (digest, actualUnits) => {
    const world = new World()
    const lease = world.run()
    expect(refusal(() => world.complete(lease, { digest, actualUnits }))).toBe('InvalidParams')
    expect(lease.status).toBe('ACTIVE')
  })

  it('COMPLETE-6: with a proof the provider earns when it is valid, not before', () => {
    const world = new World(WITH_PROOF)
    world.a.health = 900
    world.a.failures = 2
    const lease = world.run()
    world.complete(lease)
    expect(lease.status).toBe('COMPLETED')
    expect(lease.job.status).toBe('RUNNING')
    expect(world.a).toMatchObject({ health: 900, failures: 2, liveLeases: 0 })

    decideProof(world.market, lease.job, true)
    expect(lease.job.status).toBe('COMPLETED')
    expect(world.a).toMatchObject({ health: 920, failures: 0 })
    expect(refusal(() => decideProof(world.market, lease.job, true))).toBe('InvalidState')
  })

  test.each([
    { at: 599_999, status: 'RUNNING', retries: 0, health: 1_000 },
    { at: 600_000, status: 'QUEUED', retries: 1, health: 700 },
  ])('COMPLETE-2: $at ms after the completion a job without proof is $status', (row) => {
    const world = new World(WITH_PROOF)
    const lease = world.run()
    world.complete(lease)
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
      world.fail(lease)
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
      const lease = world.assign({ job })
      world.fail(lease)
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
    if (charge === 'PROVIDER_FAIL') world.fail(lease)
    if (charge === 'PROOF_INVALID') {
      world.complete(lease)
      decideProof(world.market, lease.job, false)
    }
    world.at(600_000)
    expect(lease.job).toMatchObject({ status, retries: 1, reason: 'retries_exhausted' })
  })

  it('RETRY-7: a permanent error ends the job at once, and still counts', () => {
    const world = new World()
    const lease = world.run()
    world.fail(lease, { code: 'unsupported', permanent: true })
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
  const ends: Readonly<Record<string, (world: World, lease: Lease) => unknown>> = {
    cancelled: (world, lease) => world.release(lease),
    expired: (world) => world.at(600_000),
    completed: (world, lease) => world.complete(lease, { digest: `0x${'0'.repeat(64)}` }),
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
      expect(refusal(() => call?.(world.market, callOf(lease)))).toBe('LeaseNotLive')
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
    const failure = { code: 'oom', permanent: false, retryAfterMs: -1 }
    expect(refusal(() => failLease(world.market, { ...unknown, ...failure }))).toBe('InvalidParams')
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

function cooldownsOf({ a }: World): object[] {
  return [...a.classCooldowns.values()]
}

/** All that a completion can change. */
function viewOf({ market, events, a, b }: World, { job, ...lease }: Lease): object {
  const providers = [a, b].map(({ health, failures, cooldownUntil, liveLeases, units }) => {
    return { health, failures, cooldownUntil, liveLeases, units: structuredClone(units) }
  })
  const { status, retries, endedAt, reason, notBefore, proofAwaitedSince } = job
  const course = { status, retries, endedAt, reason, notBefore, proofAwaitedSince }
  const { status: leaseStatus, digest, tDeadline } = lease
  const waiting = [...market.waitingOf]
  return { leaseStatus, digest, tDeadline, course, providers, waiting, told: events.length }
}
