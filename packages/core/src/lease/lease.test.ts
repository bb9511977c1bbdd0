import { fc, test } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { advanceMarket, changePolicy } from '../advance-market.ts'
import { enqueueJob } from '../enqueue/enqueue-job.ts'
import { aiDemand, taskDemand } from '../enqueue/kinds.ts'
import { type Caller, type JobId, leaseId, type ProviderId, type Seed } from '../ids.ts'
import type { Job } from '../job.ts'
import { type Market, type MarketEvent, openMarket } from '../market.ts'
import { completeLease } from '../outcome/complete-lease.ts'
import { type Policy, parsePolicy } from '../policy.ts'
import { newProvider, type Provider } from '../registry/provider.ts'
import { registerProvider } from '../registry/provider-status.ts'
import { issueLease } from './issue-lease.ts'
import { ackDueAt, type Lease, leaseTerms, renewalMs, renewBy } from './lease.ts'
import { ackLease, releaseLease, renewLease } from './lease-calls.ts'

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
    const { market, a, assign } = world()
    advanceMarket(market, 3_600_001)
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
    const { market, assign, a, b } = world()
    const lease = assign()
    expect(() => assign(lease.job, b)).toThrow(expect.objectContaining({ code: 'InvalidState' }))
    expect([a.liveLeases, b.liveLeases]).toEqual([1, 0])
    expect(market.leases.size).toBe(1)
    expect(lease.job.attempt).toBe(0)
  })

  it('STATE-7: attempts are numbered from 0, however the one before ended', () => {
    const { market, assign, enqueue, a } = world()
    const job = enqueue()
    for (const attempt of [0, 1, 2]) {
      const lease = assign(job)
      const seed = hex(attempt + 2) as Seed
      expect(lease.id).toBe(leaseId({ jobId: job.id, providerId: a.id, attempt, seed }))
      expect(job.attempt).toBe(attempt)
      releaseLease(market, { leaseId: lease.id, by: a.id })
    }
    expect(job.leases?.map(({ attempt }) => attempt)).toEqual([0, 1, 2])
  })

  it('LEASE-1: a later policy does not reach the terms of a lease', () => {
    const { market, assign, a } = world()
    const lease = assign()
    const queue = { ack_timeout_ms: 100, lease: { ai_secs: 10, renewals_max: 0, renew_beta: 1 } }
    changePolicy(market, parsePolicy({ queue }, 'fund'))
    advanceMarket(market, 4_999)
    ackLease(market, { leaseId: lease.id, by: a.id })
    renewLease(market, { leaseId: lease.id, by: a.id })
    expect(lease).toMatchObject({ status: 'RENEWED', tDeadline: 900_000, renewals: 1 })
    const other = assign()
    expect(other.tDeadline).toBe(14_999)
    expect(other.terms).toMatchObject({ ackTimeoutMs: 100, renewalsMax: 0, renewBeta: 1_000 })
  })
})

describe('end', () => {
  it('LEASE-6: a lease is live one ms before its deadline and EXPIRED at it', () => {
    const { market, assign, a } = world()
    const lease = assign()
    ackLease(market, { leaseId: lease.id, by: a.id })
    advanceMarket(market, 599_999)
    expect(lease.status).toBe('ACTIVE')
    advanceMarket(market, 600_000)
    expect(lease.status).toBe('EXPIRED')
    expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 1 })
    expect(lease.job.denials).toEqual(new Map([[a.id, 660_000]]))
    expect(a).toMatchObject({ liveLeases: 0, failures: 1 })
    expect(a.units.get('ai')?.get(0) ?? 0).toBe(0)
  })

  it('LEASE-13: over a lowered cap the newest leases go, by t_start and then by id', () => {
    const { market, assign, a, b } = world()
    const first = assign()
    advanceMarket(market, 1_000)
    const pair = [assign(), assign()].sort((x, y) => (x.id < y.id ? -1 : 1))
    const other = assign(undefined, b)
    changePolicy(market, capped(2))
    expect([first, ...pair, other].map(({ status }) => status)).toEqual([
      'ACTIVE',
      'ACTIVE',
      'CANCELLED',
      'ACTIVE',
    ])
    expect(pair[1]?.job).toMatchObject({ status: 'QUEUED', retries: 0, notBefore: null })
    expect(a.liveLeases).toBe(2)
    changePolicy(market, capped(0))
    expect([a.liveLeases, b.liveLeases]).toEqual([0, 0])
    expect(a).toMatchObject({ health: 1_000, failures: 0 })
  })

  it('LEASE-13: a provider that declared fewer is held to its own number', () => {
    const { market, assign, c } = world()
    assign(undefined, c)
    changePolicy(market, capped(1))
    expect(c.liveLeases).toBe(1)
    changePolicy(market, capped(16))
    expect(c.liveLeases).toBe(1)
  })
})

describe('what falls due at one time', () => {
  it('STATE-6: ttl_abs, ttl_rel, deadline, ack timeout, proof timeout, silence, in this order', () => {
    const { market, events, enqueue, assign, a, b } = world({
      queue: {
        lease: { ai_secs: 30 },
        ttl: { rel_max_secs: 40 },
        completion: { task_verification: 'proof', proof_timeout_secs: 10 },
      },
      registry: { heartbeat_timeout_ms: 90_000, heartbeat_interval_ms: 10_000 },
    })
    b.health = 50
    // In the reverse order of their ids, and each due at 100 s.
    const proven = enqueue({ kind: 'task' })
    const unacked = enqueue()
    const expiring = enqueue()
    const assignedOnce = enqueue()
    const old = enqueue({ ttlAbsSecs: 100 })
    advanceMarket(market, 60_000)
    releaseLease(market, { leaseId: assign(assignedOnce).id, by: a.id })
    advanceMarket(market, 70_000)
    ackLease(market, { leaseId: assign(expiring).id, by: a.id })
    advanceMarket(market, 90_000)
    const completed = assign(proven)
    const digest = `0x${'d'.repeat(64)}`
    completeLease(market, { leaseId: completed.id, by: a.id, digest, actualUnits: null })
    advanceMarket(market, 95_000)
    const offered = assign(unacked)
    advanceMarket(market, 99_999)
    expect(events.at(-1)).toMatchObject({ type: 'jobAssigned', at: 95_000 })

    advanceMarket(market, 200_000)
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

  it('STATE-6: within one sort by id, whatever came first', () => {
    const { market, events, enqueue } = world()
    const jobs = [3, 1, 2].map((name) => enqueue({ ttlAbsSecs: 5, name }))
    advanceMarket(market, 5_000)
    const expired = events.filter(({ type }) => type === 'jobExpired')
    expect(expired).toMatchObject([
      { jobId: jobs[1]?.id },
      { jobId: jobs[2]?.id },
      { jobId: jobs[0]?.id },
    ])
  })

  it('STATE-6: of one lease the deadline comes before the ack timeout', () => {
    const { market, assign } = world()
    const { queue } = FUND
    changePolicy(market, { ...FUND, queue: { ...queue, ackTimeoutMs: 600_000 } })
    const lease = assign()
    advanceMarket(market, 600_000)
    expect(lease.status).toBe('EXPIRED')
    expect(lease.job.retries).toBe(1)
  })

  it('STATE-6: an earlier time counts as the latest one seen', () => {
    const { market, assign, a } = world()
    const lease = assign()
    advanceMarket(market, 4_000)
    advanceMarket(market, 1_000)
    expect(market.nowMs).toBe(4_000)
    ackLease(market, { leaseId: lease.id, by: a.id })
    advanceMarket(market, 600_000)
    advanceMarket(market, 599_999)
    expect(lease.status).toBe('EXPIRED')
    expect(() => renewLease(market, { leaseId: lease.id, by: a.id })).toThrow(
      expect.objectContaining({ code: 'LeaseNotLive' }),
    )
  })
})

interface NewJobOptions {
  readonly kind?: 'ai' | 'task'
  readonly ttlAbsSecs?: number | null
  readonly name?: number
}
interface World {
  readonly market: Market
  readonly events: MarketEvent[]
  readonly a: Provider
  readonly b: Provider
  /** Declared one lease at most. */
  readonly c: Provider
  readonly enqueue: (options?: NewJobOptions) => Job
  readonly assign: (job?: Job, provider?: Provider) => Lease
}

/** Three providers from time 0 on. Later jobs have lower ids unless they are named. */
function world(written: object = {}): World {
  const events: MarketEvent[] = []
  const registry = { heartbeat_timeout_ms: 31_536_000_000 }
  const policy = parsePolicy({ registry, ...written }, 'fund')
  const market = openMarket({ policy, nowMs: 0, emit: (event) => events.push(event) })
  const providers = (['a', 'b', 'c'] as const).map((name) => {
    const offer = { leasesMax: name === 'c' ? 1 : null }
    const id = `provider:${name}` as ProviderId
    return newProvider({ id, offer, lastHeartbeat: 0 })
  })
  for (const provider of providers) registerProvider(market, provider)
  const [a, b, c] = providers as [Provider, Provider, Provider]
  let seeds = 1
  const enqueue = (options: NewJobOptions = {}): Job => {
    const { kind = 'ai', ttlAbsSecs = null, name = 0xffff - market.jobs.size } = options
    return enqueueJob(market, {
      id: hex(name) as JobId,
      kind,
      caller: `0x${'c'.repeat(64)}` as Caller,
      tier: 'FREE',
      fee: 0n,
      sizeBytes: 1_000,
      demand: kind === 'task' ? taskDemand('t') : aiDemand('m', 100),
      regions: null,
      ttlAbsSecs,
      enqueueSeq: 0,
    })
  }
  const assign = (job: Job = enqueue(), provider: Provider = a): Lease =>
    issueLease(market, job, provider, hex(++seeds) as Seed)
  return { market, events, a, b, c, enqueue, assign }
}

function capped(leases_max_per_provider: number): Policy {
  return parsePolicy({ queue: { quotas: { leases_max_per_provider } } }, 'fund')
}

function hex(n: number): string {
  return `0x${n.toString(16).padStart(64, '0')}`
}
