import { fc, test } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { jobNamed, seedNamed } from '../../test/any-market.ts'
import { refusal } from '../../test/refusal.ts'
import { World, type Written } from '../../test/world.ts'
import { leaseId, type WorkerId } from '../encoding/ids.ts'
import { changePolicy } from '../market/advance-market.ts'
import { parsePolicy } from '../policy/policy.ts'
import { connectWorker, disconnectWorker } from '../registry/worker-calls.ts'
import { ackDueAt, leaseTerms, renewalMs, renewBy } from './lease.ts'

const FUND = parsePolicy({}, 'fund')

describe('terms', () => {
  it.each([
    ['ai', 600_000],
    ['quantum', 180_000],
    ['task', 600_000],
    ['registration', 60_000],
  ] as const)('LEASE-1: a lease of kind %s lasts %i ms', (kind, lengthMs) => {
    expect(leaseTerms(kind, FUND)).toEqual({
      lengthMs,
      ackTimeoutMs: 5_000,
      renewAlpha: 600,
      renewBeta: 500,
      renewalsMax: 4,
    })
  })

  it('LEASE-2: 600 s from 0 end at 600 s and ask for a renewal at 360 s', () => {
    const terms = leaseTerms('ai', FUND)
    expect(renewBy({ tDeadline: 600_000, terms })).toBe(360_000)
    expect(renewalMs(terms)).toBe(300_000)
    expect(ackDueAt({ tStart: 7, terms })).toBe(5_007)
  })

  it.each([
    { alpha: 0, renewBy: 0 },
    { alpha: 0.001, renewBy: 7 },
    { alpha: 0.333, renewBy: 2_331 },
    { alpha: 0.7, renewBy: 4_900 },
    { alpha: 1, renewBy: 7_000 },
  ])('LEASE-2: with α $alpha a lease of 7 s should be renewed by $renewBy ms', (row) => {
    const written = { queue: { lease: { ai_secs: 7, renew_alpha: row.alpha } } }
    const terms = leaseTerms('ai', parsePolicy(written, 'fund'))
    expect(renewBy({ tDeadline: 7_000, terms })).toBe(row.renewBy)
  })

  test.prop([
    fc.integer({ min: 6, max: 31_536_000 }),
    fc.nat(1_000),
    fc.nat(1_000),
    fc.nat(2 ** 41),
  ])('LEASE-2: renew_by and β·T are exact for all thousandths', (secs, alpha, beta, tStart) => {
    const written = {
      queue: { lease: { ai_secs: secs, renew_alpha: alpha / 1_000, renew_beta: beta / 1_000 } },
    }
    const terms = leaseTerms('ai', parsePolicy(written, 'fund'))
    const tDeadline = tStart + 1_000 * secs
    expect(BigInt(renewBy({ tDeadline, terms }))).toBe(
      BigInt(tDeadline) - (1_000n - BigInt(alpha)) * BigInt(secs),
    )
    expect(BigInt(renewalMs(terms))).toBe(BigInt(beta) * BigInt(secs))
  })
})

describe('issue', () => {
  it('LEASE-1: the job is ASSIGNED, the lease ACTIVE, and slot and units are taken', () => {
    const { at, assign, a } = new World()
    at(3_600_001)
    const lease = assign()
    expect(lease).toMatchObject({
      status: 'ACTIVE',
      tStart: 3_600_001,
      tDeadline: 4_200_001,
      epoch: 1,
      renewals: 0,
      isAcked: false,
      attempt: 0,
    })
    expect(lease.job).toMatchObject({ status: 'ASSIGNED', attempt: 0, firstAssignedAt: 3_600_001 })
    expect(a.liveLeases).toBe(1)
    expect(a.units.get('ai')?.get(1)).toBe(1)
  })

  it('STATE-4: a job that is leased cannot be leased again', () => {
    const { market, assign, a, b } = new World()
    const lease = assign()
    expect(refusal(() => assign({ job: lease.job, provider: b }))).toBe('InvalidState')
    expect([a.liveLeases, b.liveLeases]).toEqual([1, 0])
    expect(market.leases.size).toBe(1)
    expect(lease.job.attempt).toBe(0)
  })

  it('STATE-7: attempts are numbered from 0, however the one before ended', () => {
    const { enqueue, assign, release, a } = new World()
    const job = enqueue()
    for (const attempt of [0, 1, 2]) {
      const lease = assign({ job })
      const seed = seedNamed(attempt + 1)
      expect(lease.id).toBe(leaseId({ jobId: job.id, providerId: a.id, attempt, seed }))
      expect(job.attempt).toBe(attempt)
      release(lease)
    }
    expect(job.leases?.map(({ attempt }) => attempt)).toEqual([0, 1, 2])
  })

  it('LEASE-1: a later policy does not reach the terms of a lease', () => {
    const { at, policy, assign, ack, renew } = new World()
    const lease = assign()
    const queue = { ack_timeout_ms: 100, lease: { ai_secs: 10, renewals_max: 0, renew_beta: 1 } }
    policy({ queue })
    at(4_999)
    ack(lease)
    renew(lease)
    expect(lease).toMatchObject({ status: 'RENEWED', tDeadline: 900_000, renewals: 1 })
    const other = assign()
    expect(other.tDeadline).toBe(14_999)
    expect(other.terms).toMatchObject({ ackTimeoutMs: 100, renewalsMax: 0, renewBeta: 1_000 })
  })
})

describe('end', () => {
  it('LEASE-6: a lease is live one ms before its deadline and EXPIRED at it', () => {
    const { at, assign, ack, a } = new World()
    const lease = assign()
    ack(lease)
    at(599_999)
    expect(lease.status).toBe('ACTIVE')
    at(600_000)
    expect(lease.status).toBe('EXPIRED')
    expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 1 })
    expect(lease.job.denials).toEqual(new Map([[a.id, 660_000]]))
    expect(a).toMatchObject({ liveLeases: 0, failures: 1 })
    expect(a.units.get('ai')?.get(0) ?? 0).toBe(0)
  })

  it('LEASE-13: over a lowered cap the newest leases go, by t_start and then by id', () => {
    const { at, policy, assign, a, b } = new World()
    const first = assign()
    at(1_000)
    const pair = [assign(), assign()].sort((x, y) => (x.id < y.id ? -1 : 1))
    const other = assign({ provider: b })
    policy(capped(2))
    expect([first, ...pair, other].map(({ status }) => status)).toEqual([
      'ACTIVE',
      'ACTIVE',
      'CANCELLED',
      'ACTIVE',
    ])
    expect(pair[1]?.job).toMatchObject({ status: 'QUEUED', retries: 0, notBefore: null })
    expect(a.liveLeases).toBe(2)
    policy(capped(0))
    expect([a.liveLeases, b.liveLeases]).toEqual([0, 0])
    expect(a).toMatchObject({ health: 1_000, failures: 0 })
  })

  it('LEASE-13: a provider that declared fewer is held to its own number', () => {
    const { policy, assign, c } = new World()
    assign({ provider: c })
    policy(capped(1))
    expect(c.liveLeases).toBe(1)
    policy(capped(16))
    expect(c.liveLeases).toBe(1)
  })
})

describe('what falls due at one time', () => {
  it('STATE-6: ttl_abs, ttl_rel, deadline, ack timeout, proof timeout, silence, in this order', () => {
    const { events, at, enqueue, assign, ack, release, complete, b } = new World({
      queue: {
        lease: { ai_secs: 30 },
        ttl: { rel_max_secs: 40 },
        completion: { quantum_verification: 'proof', proof_timeout_secs: 10 },
      },
      registry: { heartbeat_timeout_ms: 90_000, heartbeat_interval_ms: 10_000 },
    })
    b.health = 50
    // In the reverse order of their ids, and each due at 100 s.
    const proven = enqueue({ id: jobNamed(1), kind: 'quantum' })
    const unacked = enqueue({ id: jobNamed(2) })
    const expiring = enqueue({ id: jobNamed(3) })
    const assignedOnce = enqueue({ id: jobNamed(4) })
    const old = enqueue({ id: jobNamed(5), ttlAbsSecs: 100 })
    at(60_000)
    release(assign({ job: assignedOnce }))
    at(70_000)
    ack(assign({ job: expiring }))
    at(90_000)
    complete(assign({ job: proven }))
    at(95_000)
    const offered = assign({ job: unacked })
    at(99_999)
    expect(events.at(-1)).toMatchObject({ type: 'jobAssigned', at: 95_000 })

    at(200_000)
    const at100 = events.filter(({ at }) => at === 100_000)
    expect(at100).toMatchObject([
      { type: 'jobExpired', jobId: old.id, reason: 'ttl_abs' },
      { type: 'jobExpired', jobId: assignedOnce.id, reason: 'ttl_rel' },
      { type: 'jobRequeued', jobId: expiring.id, reason: 'LEASE_EXPIRED' },
      { type: 'leaseCancelled', leaseId: offered.id, reason: 'ack_timeout' },
      { type: 'jobRequeued', jobId: unacked.id, reason: 'ACK_TIMEOUT' },
      { type: 'jobRequeued', jobId: proven.id, reason: 'PROOF_INVALID' },
      { type: 'providerStatus', providerId: b.id, status: 'SUSPENDED' },
    ])
  })

  it('STATE-6: a lost worker comes behind the ack timeout and before the proof timeout', () => {
    const world = new World(
      {
        queue: {
          worker_lost_ms: 5_000,
          completion: { quantum_verification: 'proof', proof_timeout_secs: 5 },
        },
      },
      { byWorkers: true },
    )
    const { market, a, events } = world
    const workerId = 'w' as WorkerId
    connectWorker(market, a, { workerId, slots: 3, holds: [] })
    world.complete(world.assign({ job: world.enqueue({ kind: 'quantum' }) }))
    const lost = world.run()
    world.assign()
    disconnectWorker(market, a, workerId)
    world.at(5_000)
    const reasons = events.flatMap((event) => (event.type === 'jobRequeued' ? [event.reason] : []))
    expect(reasons).toEqual(['ACK_TIMEOUT', 'WORKER_LOST', 'PROOF_INVALID'])
    expect(lost.job.retries).toBe(0)
  })

  it('STATE-6: within one sort by id, whatever came first', () => {
    const { events, at, enqueue } = new World()
    const jobs = [3, 1, 2].map((n) => enqueue({ ttlAbsSecs: 5, id: jobNamed(n) }))
    at(5_000)
    const expired = events.filter(({ type }) => type === 'jobExpired')
    expect(expired).toMatchObject([
      { jobId: jobs[1]?.id },
      { jobId: jobs[2]?.id },
      { jobId: jobs[0]?.id },
    ])
  })

  it('STATE-6: of one lease the deadline comes before the ack timeout', () => {
    const { market, at, assign } = new World()
    const { queue } = FUND
    changePolicy(market, { ...FUND, queue: { ...queue, ackTimeoutMs: 600_000 } })
    const lease = assign()
    at(600_000)
    expect(lease.status).toBe('EXPIRED')
    expect(lease.job.retries).toBe(1)
  })

  it('STATE-6: an earlier time counts as the latest one seen', () => {
    const { market, at, assign, ack, renew } = new World()
    const lease = assign()
    at(4_000)
    at(1_000)
    expect(market.nowMs).toBe(4_000)
    ack(lease)
    at(600_000)
    at(599_999)
    expect(lease.status).toBe('EXPIRED')
    expect(refusal(() => renew(lease))).toBe('LeaseNotLive')
  })
})

function capped(leases_max_per_provider: number): Written {
  return { queue: { quotas: { leases_max_per_provider } } }
}
