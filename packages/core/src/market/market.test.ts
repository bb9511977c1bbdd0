import { describe, expect, it } from 'vitest'
import { refusal } from '../../test/refusal.ts'
import { DIGEST, OWNER, STRANGER, WITH_PROOF, World, type Written } from '../../test/world.ts'
import type { LeaseId, WorkerId } from '../encoding/ids.ts'
import type { NewJob } from '../enqueue/enqueue-job.ts'
import { registrationDemand } from '../enqueue/kinds.ts'
import type { Lease } from '../lease/lease.ts'
import { explainWaiting } from '../match/explain-job.ts'
import { cancelJob } from '../outcome/cancel-job.ts'
import { decideProof } from '../outcome/complete-lease.ts'
import { newProvider } from '../registry/provider.ts'
import { registerProvider, setProviderStatus, updateOffer } from '../registry/provider-status.ts'
import { connectWorker, disconnectWorker } from '../registry/worker-calls.ts'
import { setOpening } from '../sessions/join-session.ts'
import { nextDueAt } from './advance-market.ts'
import type { Job } from './job.ts'
import type { MarketEvent } from './market.ts'

/** Something that happens in a new world, from time 0 on, and all that is told of it. */
interface Story {
  readonly policy?: Written
  readonly byWorkers?: boolean
  readonly tell: (world: World) => readonly MarketEvent[]
}

const LAST_CHANCE = { queue: { retries: { attempt_max: 1 } } }

const STORIES: Readonly<Record<string, Story>> = {
  'an attempt from its job to its completion': {
    tell: (world) => {
      world.at(10)
      const job = world.enqueue()
      world.at(20)
      const lease = world.assign({ job })
      world.at(30)
      world.ack(lease)
      world.at(40)
      world.renew(lease)
      world.at(50)
      world.complete(lease)
      return [
        { type: 'jobEnqueued', at: 10, jobId: job.id },
        assigned(lease, 20, 600_020),
        { type: 'jobStarted', at: 30, jobId: job.id, leaseId: lease.id },
        { type: 'leaseRenewed', at: 40, leaseId: lease.id, deadline: 900_020 },
        completed(lease, 50),
      ]
    },
  },
  'a completion without an ack': {
    tell: (world) => {
      const lease = world.assign()
      world.complete(lease)
      return [...offered(lease), completed(lease, 0)]
    },
  },
  'a proof that is valid': {
    policy: WITH_PROOF,
    tell: (world) => {
      const lease = world.run()
      world.at(10)
      world.complete(lease)
      world.at(20)
      decideProof(world.market, lease.job, true)
      return [...started(lease), completed(lease, 20)]
    },
  },
  'a proof that is not': {
    policy: WITH_PROOF,
    tell: (world) => {
      const lease = world.run()
      world.complete(lease)
      world.at(20)
      decideProof(world.market, lease.job, false)
      return [...started(lease), requeued(lease, 20, 'PROOF_INVALID')]
    },
  },
  'a proof that does not come, noticed late': {
    policy: WITH_PROOF,
    tell: (world) => {
      const lease = world.run()
      world.complete(lease)
      world.at(700_000)
      return [...started(lease), requeued(lease, 600_000, 'PROOF_INVALID')]
    },
  },
  'an ack that does not come, noticed late': {
    tell: (world) => {
      const lease = world.assign()
      world.at(60_000)
      return [
        ...offered(lease),
        cancelled(lease, 5_000, 'ack_timeout'),
        requeued(lease, 5_000, 'ACK_TIMEOUT'),
      ]
    },
  },
  'a deadline, noticed late': {
    tell: (world) => {
      const lease = world.run()
      world.at(700_000)
      return [...started(lease), requeued(lease, 600_000, 'LEASE_EXPIRED')]
    },
  },
  'a fail': {
    tell: (world) => {
      const lease = world.run()
      world.fail(lease)
      return [...started(lease), failed(lease, 0), requeued(lease, 0, 'PROVIDER_FAIL')]
    },
  },
  'a permanent fail': {
    tell: (world) => {
      const lease = world.run()
      world.fail(lease, { permanent: true })
      const { id: jobId } = lease.job
      return [
        ...started(lease),
        failed(lease, 0),
        { type: 'jobFailed', at: 0, jobId, reason: 'permanent_error' },
      ]
    },
  },
  'the fail that uses up the retries': {
    policy: LAST_CHANCE,
    tell: (world) => {
      const lease = world.run()
      world.fail(lease)
      const { id: jobId } = lease.job
      return [
        ...started(lease),
        failed(lease, 0),
        { type: 'jobFailed', at: 0, jobId, reason: 'retries_exhausted' },
      ]
    },
  },
  'the deadline that uses up the retries': {
    policy: LAST_CHANCE,
    tell: (world) => {
      const lease = world.run()
      world.at(700_000)
      const { id: jobId } = lease.job
      return [
        ...started(lease),
        { type: 'jobExpired', at: 600_000, jobId, reason: 'retries_exhausted' },
      ]
    },
  },
  'a decline': {
    tell: (world) => {
      const lease = world.assign()
      world.decline(lease)
      return [
        ...offered(lease),
        cancelled(lease, 0, 'declined'),
        requeued(lease, 0, 'DECLINED', null),
      ]
    },
  },
  'the sixteenth decline': {
    tell: (world) => {
      const job = world.enqueue()
      const leases = Array.from({ length: 16 }, () => world.decline(world.assign({ job })))
      const last = leases.pop() as Lease
      return [
        { type: 'jobEnqueued', at: 0, jobId: job.id },
        ...leases.flatMap((lease) => [
          assigned(lease, 0, 600_000),
          cancelled(lease, 0, 'declined'),
          requeued(lease, 0, 'DECLINED', null),
        ]),
        assigned(last, 0, 600_000),
        cancelled(last, 0, 'declined'),
        { type: 'jobFailed', at: 0, jobId: job.id, reason: 'declined' },
      ]
    },
  },
  'a lease given back': {
    tell: (world) => {
      const lease = world.run()
      world.release(lease)
      return [
        ...started(lease),
        cancelled(lease, 0, 'released'),
        requeued(lease, 0, 'RELEASED', null),
      ]
    },
  },
  'workers that come and go': {
    byWorkers: true,
    tell: (world) => {
      const { market, a } = world
      const { id: providerId } = a
      const [first, second] = ['w-1', 'w-2'] as [WorkerId, WorkerId]
      connectWorker(market, a, { workerId: first, slots: 2, holds: [] })
      const [moved, lost] = [world.assign(), world.run()]
      world.at(10)
      disconnectWorker(market, a, first)
      connectWorker(market, a, { workerId: second, slots: 1, holds: [] })
      world.round()
      connectWorker(market, a, { workerId: second, slots: 0, holds: [] })
      world.at(20_000)
      return [
        { type: 'workerConnected', at: 0, providerId, workerId: first, slots: 2 },
        ...offered(moved),
        ...started(lost),
        { type: 'workerLeft', at: 10, providerId, workerId: first },
        { type: 'workerConnected', at: 10, providerId, workerId: second, slots: 1 },
        { type: 'leaseMoved', at: 10, leaseId: moved.id, workerId: second },
        cancelled(moved, 10, 'disowned'),
        requeued(moved, 10, 'RELEASED', null),
        cancelled(lost, 15_010, 'worker_lost'),
        requeued(lost, 15_010, 'WORKER_LOST'),
      ]
    },
  },
  'the last of the workers that a job loses': {
    policy: { queue: { retries: { worker_lost_max: 1 } } },
    byWorkers: true,
    tell: (world) => {
      const { market, a } = world
      const { id: providerId } = a
      const workerId = 'w' as WorkerId
      connectWorker(market, a, { workerId, slots: 1, holds: [] })
      const lease = world.run()
      connectWorker(market, a, { workerId, slots: 1, holds: [] })
      const { id: jobId } = lease.job
      return [
        { type: 'workerConnected', at: 0, providerId, workerId, slots: 1 },
        ...started(lease),
        cancelled(lease, 0, 'disowned'),
        { type: 'jobFailed', at: 0, jobId, reason: 'worker_lost' },
      ]
    },
  },
  'a completion that took more of a limit than counts': {
    policy: { admit: [{ kind: 'ai', requirements: [{ key: 'tpm', amount: 'tokens' }] }] },
    tell: (world) => {
      const most = Number.MAX_SAFE_INTEGER
      const tpm = { key: 'tpm', kind: 'rolling', capacity: 1_000, windowSecs: 60 }
      world.market.limits.define(tpm, 0)
      const lease = world.complete(world.run(), { actualTokens: most })
      const counted = Math.max(1_000, 16 * Math.max(1, lease.job.tokens))
      return [
        ...started(lease),
        { type: 'limitExcess', at: 0, leaseId: lease.id, key: 'tpm', amount: most - counted },
        completed(lease, 0),
      ]
    },
  },
  'a provider that loses its leases with its status': {
    tell: (world) => {
      const lease = world.run()
      world.at(10)
      const { id: providerId } = world.a
      setProviderStatus(world.market, world.a, 'JAILED')
      return [
        ...started(lease),
        { type: 'providerStatus', at: 10, providerId, status: 'JAILED' },
        cancelled(lease, 10, 'provider_status'),
        requeued(lease, 10, 'LEASE_CANCELLED', null),
      ]
    },
  },
  'a provider at the end of its health, with another lease': {
    tell: (world) => {
      const [lost, other] = [world.run(), world.run()]
      world.a.health = 100
      world.fail(lost)
      const { id: providerId } = world.a
      return [
        ...started(lost),
        ...started(other),
        failed(lost, 0),
        requeued(lost, 0, 'PROVIDER_FAIL'),
        { type: 'providerStatus', at: 0, providerId, status: 'SUSPENDED' },
        cancelled(other, 0, 'provider_status'),
        requeued(other, 0, 'LEASE_CANCELLED', null),
      ]
    },
  },
  'a cap that is lowered': {
    tell: (world) => {
      const lease = world.run()
      world.at(10)
      world.policy({ queue: { quotas: { leases_max_per_provider: 0 } } })
      return [
        ...started(lease),
        cancelled(lease, 10, 'over_cap'),
        requeued(lease, 10, 'LEASE_CANCELLED', null),
      ]
    },
  },
  'a job that is cancelled while it runs': {
    tell: (world) => {
      const lease = world.run()
      world.at(10)
      cancelJob(world.market, lease.job, OWNER)
      const { id: jobId } = lease.job
      return [
        ...started(lease),
        cancelled(lease, 10, 'job_ended'),
        { type: 'jobCanceled', at: 10, jobId },
      ]
    },
  },
  'a registration that is cancelled while its request may be under way': {
    tell: (world) => {
      const key = { platform: 'p', orgRef: 'o', eventId: 'e' }
      const session = { ...key, tieBreaker: '1', seat: 'u', scheduledTime: 9 }
      const demand = registrationDemand('p')
      const given = { kind: 'registration', demand, session: { ...session, isOperators: false } }
      const job = world.enqueue(given as Partial<NewJob>)
      updateOffer(world.market, world.a, {
        ...world.a.offer,
        capabilities: new Set(['registration']),
        platforms: new Set(['p']),
      })
      setOpening(world.market, session, 5)
      world.at(5)
      world.round()
      const lease = world.ack(job.leases?.[0] as Lease)
      cancelJob(world.market, job, OWNER)
      world.fail(lease, { code: 'busy', permanent: false, http: 503 })
      const { id: jobId } = job
      const at = 5
      const deadline = at + 60_000
      return [
        { type: 'jobEnqueued', at: 0, jobId },
        { type: 'jobRescheduled', at: 0, jobId, opensAt: 5 },
        {
          ...{ type: 'jobAssigned', at, rank: 0, task: 'book' },
          ...{ jobId, providerId: world.a.id, leaseId: lease.id, deadline },
        },
        { type: 'jobStarted', at, jobId, leaseId: lease.id },
        { type: 'jobCancelNoted', at, jobId },
        { ...cancelled(lease, at, 'provider_fail'), code: 'other', http: 503 },
        { type: 'jobCanceled', at, jobId },
      ]
    },
  },
  'a life that ends while the job runs, noticed late': {
    tell: (world) => {
      const lease = world.run({ job: world.enqueue({ ttlAbsSecs: 60 }) })
      world.at(80_000)
      const { id: jobId } = lease.job
      return [
        ...started(lease),
        cancelled(lease, 60_000, 'job_ended'),
        { type: 'jobExpired', at: 60_000, jobId, reason: 'ttl_abs' },
      ]
    },
  },
  'a relative life that ends in the queue': {
    policy: { queue: { ttl: { rel_max_secs: 60 } } },
    tell: (world) => {
      const lease = world.assign()
      world.release(lease)
      world.at(500_000)
      const { id: jobId } = lease.job
      return [
        ...offered(lease),
        cancelled(lease, 0, 'released'),
        requeued(lease, 0, 'RELEASED', null),
        { type: 'jobExpired', at: 60_000, jobId, reason: 'ttl_rel' },
      ]
    },
  },
  'what fell due of several jobs, noticed at once': {
    tell: (world) => {
      const [late, soon] = [9, 3].map((ttlAbsSecs) => world.enqueue({ ttlAbsSecs })) as [Job, Job]
      const lease = world.assign()
      world.at(1_000_000)
      const first = [
        { type: 'jobEnqueued', at: 0, jobId: late.id },
        { type: 'jobEnqueued', at: 0, jobId: soon.id },
      ] as const
      return [
        ...first,
        ...offered(lease),
        { type: 'jobExpired', at: 3_000, jobId: soon.id, reason: 'ttl_abs' },
        cancelled(lease, 5_000, 'ack_timeout'),
        requeued(lease, 5_000, 'ACK_TIMEOUT'),
        { type: 'jobExpired', at: 9_000, jobId: late.id, reason: 'ttl_abs' },
      ]
    },
  },
}

/** The table of EVENT-2: the fields beside `type` and `at`. */
const FIELDS: Readonly<Record<MarketEvent['type'], readonly string[]>> = {
  jobEnqueued: ['jobId'],
  jobAssigned: ['jobId', 'providerId', 'leaseId', 'deadline'],
  jobStarted: ['jobId', 'leaseId'],
  jobCompleted: ['jobId', 'providerId', 'leaseId', 'digest'],
  jobFailed: ['jobId', 'reason'],
  jobExpired: ['jobId', 'reason'],
  jobCanceled: ['jobId'],
  jobCancelNoted: ['jobId'],
  jobRescheduled: ['jobId', 'opensAt'],
  jobRequeued: ['jobId', 'reason', 'notBefore'],
  leaseRenewed: ['leaseId', 'deadline'],
  leaseCancelled: ['leaseId', 'reason'],
  leaseMoved: ['leaseId', 'workerId'],
  limitExcess: ['leaseId', 'key', 'amount'],
  proofAccepted: ['jobId', 'leaseId', 'providerId', 'blockHeight'],
  proofDropped: ['jobId', 'leaseId'],
  providerRegistered: ['providerId'],
  providerStatus: ['providerId', 'status'],
  providerAttested: ['providerId', 'class', 'hash', 'notBefore', 'notAfter'],
  providerSlashed: ['providerId', 'reason', 'penalty'],
  slashWarning: ['providerId', 'violations'],
  epochSettled: ['epochId', 'batchId', 'totals'],
  workerConnected: ['providerId', 'workerId', 'slots'],
  workerLeft: ['providerId', 'workerId'],
}

const OF_FUND: ReadonlySet<string> = new Set([
  'proofAccepted',
  'proofDropped',
  'providerAttested',
  'providerSlashed',
  'slashWarning',
  'epochSettled',
])

/** The table of EVENT-3. */
// biome-ignore format: a table
const REASONS: Readonly<Record<string, readonly string[]>> = {
  ended: ['ttl_abs', 'ttl_rel', 'declined', 'permanent_error', 'retries_exhausted', 'worker_lost'],
  jobRequeued: [
    'ACK_TIMEOUT', 'LEASE_EXPIRED', 'PROVIDER_FAIL', 'PROOF_INVALID', 'DECLINED', 'RELEASED', 'WORKER_LOST',
    'LEASE_CANCELLED',
  ],
  leaseCancelled: [
    'ack_timeout', 'declined', 'released', 'disowned', 'worker_lost', 'provider_fail', 'provider_status', 'over_cap',
    'job_ended',
  ],
}

describe('what is told', () => {
  it.each(Object.keys(STORIES))('EVENT-1: %s, in order and each with its own time', (name) => {
    const { events, expected } = played(STORIES[name] as Story)
    expect(events).toStrictEqual(expected)
  })

  it('EVENT-1: the providers of a new world are told as they come', () => {
    const { events, a, b, c } = new World({}, { nowMs: 42 })
    expect(events).toStrictEqual(
      [a, b, c].map(({ id: providerId }) => ({ type: 'providerRegistered', at: 42, providerId })),
    )
  })

  it('EVENT-1: it is the same whether time goes in one step or in many', () => {
    const told = (steps: readonly number[]): readonly MarketEvent[] => {
      const world = new World({ queue: { retries: { attempt_max: 2 } } })
      for (const ttlAbsSecs of [8, 2, 5]) world.run({ job: world.enqueue({ ttlAbsSecs }) })
      world.assign({ provider: world.b })
      world.run({ provider: world.c })
      for (const nowMs of steps) world.at(nowMs)
      return world.events
    }
    const inOne = told([900_000])
    expect(told(Array.from({ length: 9_000 }, (_, n) => 100 * (n + 1)))).toEqual(inOne)
    const times = inOne.map(({ at }) => at)
    expect(times).toEqual(times.toSorted((x, y) => x - y))
    expect(new Set(times)).toEqual(new Set([0, 2_000, 5_000, 8_000, 600_000]))
  })

  it('EVENT-2: every event has the fields of the table and no others', () => {
    const types = new Set<string>()
    for (const event of allEvents()) {
      const { type, at, ...all } = event
      // A fail has its code. Registrations have more: the task, and the status that a platform answered.
      const extras = { code: null, http: null, rank: null, task: null }
      const {
        code: _code,
        http: _http,
        rank: _rank,
        task: _task,
        ...fields
      } = { ...extras, ...all }
      types.add(type)
      expect(at).toBeTypeOf('number')
      expect(Object.keys(fields).sort(), type).toEqual([...FIELDS[type]].sort())
    }
    // `fund-market.test.ts` has the events of the fund.
    const expected = Object.keys(FIELDS).filter((type) => !OF_FUND.has(type))
    expect([...types].sort()).toEqual(expected.sort())
  })

  it('EVENT-2: jobStarted comes with the ack, and not with a completion that goes without', () => {
    const world = new World()
    const [acked, unacked] = [world.run(), world.assign()]
    for (const lease of [acked, unacked]) world.complete(lease)
    const told = world.events.filter(({ type }) => type === 'jobStarted')
    expect(told).toEqual([{ type: 'jobStarted', at: 0, jobId: acked.job.id, leaseId: acked.id }])
  })

  it('EVENT-3: every reason of the table is given, and no other', () => {
    const given = new Map(Object.keys(REASONS).map((group) => [group, new Set<string>()]))
    for (const event of allEvents()) {
      if (!('reason' in event)) continue
      const hasEnded = event.type === 'jobFailed' || event.type === 'jobExpired'
      given.get(hasEnded ? 'ended' : event.type)?.add(event.reason)
    }
    for (const [group, reasons] of given) {
      expect([...reasons].sort()).toEqual([...(REASONS[group] ?? [])].sort())
    }
  })
})

describe('what is not told', () => {
  const UNKNOWN = { leaseId: `0x${'9'.repeat(64)}` as LeaseId }

  /** Calls that are refused, on a running lease of a; `offer` is one of b that was not acked. */
  const REFUSED: Readonly<Record<string, (world: World, lease: Lease, offer: Lease) => unknown>> = {
    'an enqueue over the depth': ({ enqueue, policy }) => {
      policy({ queue: { max_depth: 0 } })
      return enqueue()
    },
    'an enqueue of an unknown tier': ({ enqueue }) => enqueue({ tier: 'GOLD' }),
    'a second lease of a job': ({ assign, b }, { job }) => assign({ job, provider: b }),
    'a completion by another': (world, lease) => world.complete(lease, { by: world.b.id }),
    'a completion of an unknown lease': (world, lease) => world.complete(lease, UNKNOWN),
    'a completion without a digest': (world, lease) => world.complete(lease, { digest: '0x' }),
    'a fail with a wait below zero': (world, lease) => world.fail(lease, { retryAfterMs: -1 }),
    'a renewal before the ack': (world, _, offer) => world.renew(offer),
    'a renewal over the cap': (world, lease) => {
      lease.renewals = 4
      return world.renew(lease)
    },
    'a proof that nobody awaits': ({ market }, { job }) => decideProof(market, job, true),
    'a cancellation by a stranger': ({ market }, { job }) => cancelJob(market, job, STRANGER),
    'a second provider under one id': ({ market, a }) =>
      registerProvider(market, newProvider({ id: a.id, lastHeartbeat: 0 })),
    'a status that cannot be set': ({ market, a }) => setProviderStatus(market, a, 'REGISTERED'),
  }

  it.each(Object.keys(REFUSED))('EVENT-1: %s is refused and tells nothing', (name) => {
    const world = new World()
    const lease = world.run()
    const offer = world.assign({ provider: world.b })
    const told = world.events.length
    expect(refusal(() => REFUSED[name]?.(world, lease, offer))).not.toBeNull()
    expect(world.events.slice(told)).toEqual([])
  })

  /** What was done before, and then the same again. */
  const REPEATED: Readonly<Record<string, (world: World) => () => unknown>> = {
    'an enqueue': ({ enqueue }) => {
      const { id } = enqueue()
      return () => enqueue({ id })
    },
    'an ack': (world) => {
      const lease = world.run()
      return () => world.ack(lease)
    },
    'a renewal': (world) => {
      const lease = world.renew(world.run())
      return () => world.renew(lease)
    },
    'a completion': (world) => {
      const lease = world.complete(world.run())
      return () => world.complete(lease)
    },
    'a completion that awaits its proof': (world) => {
      world.policy(WITH_PROOF)
      const lease = world.complete(world.run())
      return () => world.complete(lease)
    },
    'a status': ({ market, a }) => {
      setProviderStatus(market, a, 'SUSPENDED')
      return () => setProviderStatus(market, a, 'SUSPENDED')
    },
    'a time': (world) => {
      world.enqueue({ ttlAbsSecs: 5 })
      world.at(5_000)
      return () => [5_000, 4_999, 0].map(world.at)
    },
  }

  it.each(Object.keys(REPEATED))('EVENT-1: %s that is repeated tells nothing', (name) => {
    const world = new World()
    const again = REPEATED[name]?.(world)
    const told = world.events.length
    expect(refusal(() => again?.())).toBeNull()
    expect(world.events.slice(told)).toEqual([])
  })
})

describe('times', () => {
  /** Thirty seconds, or so many milliseconds, from 7 ms on: what is then due first, and when. */
  const LENGTHS: Readonly<
    Record<string, { policy?: Written; start: (world: World) => unknown; due: number }>
  > = {
    'queue.lease.ai_secs': {
      policy: { queue: { lease: { ai_secs: 30 } } },
      start: (world) => world.run(),
      due: 30_007,
    },
    'queue.ack_timeout_ms': {
      policy: { queue: { ack_timeout_ms: 130 } },
      start: (world) => world.assign(),
      due: 137,
    },
    'queue.worker_lost_ms': {
      policy: { queue: { worker_lost_ms: 130 } },
      start: loseWorker,
      due: 137,
    },
    'queue.ttl.abs_default_ai_secs': {
      policy: { queue: { ttl: { abs_default_ai_secs: 30 } } },
      start: (world) => world.enqueue(),
      due: 30_007,
    },
    'ttl_abs_secs of a request': {
      start: (world) => world.enqueue({ ttlAbsSecs: 30 }),
      due: 30_007,
    },
    'queue.ttl.rel_max_secs': {
      policy: { queue: { ttl: { rel_max_secs: 30 } } },
      start: (world) => world.run(),
      due: 30_007,
    },
    'queue.completion.proof_timeout_secs': {
      policy: { queue: { completion: { ai_verification: 'proof', proof_timeout_secs: 30 } } },
      start: (world) => world.complete(world.run()),
      due: 30_007,
    },
    'registry.heartbeat_timeout_ms and heartbeat_interval_ms': {
      policy: { registry: { heartbeat_timeout_ms: 1_300, heartbeat_interval_ms: 1_050 } },
      start: () => {},
      due: 2_357,
    },
  }

  it.each(Object.keys(LENGTHS))('VALUE-1: the length %s ends by its unit', (name) => {
    const row = LENGTHS[name]
    const world = new World(row?.policy, { nowMs: 7, byWorkers: name.includes('worker') })
    row?.start(world)
    expect(nextDueAt(world.market)).toBe(row?.due)
  })

  it('VALUE-1: every time that is told is a whole number of milliseconds', () => {
    for (const event of allEvents()) {
      const { at, deadline, notBefore } = { deadline: 0, notBefore: 0, ...event }
      for (const time of [at, deadline, notBefore ?? 0])
        expect(time).toSatisfy(Number.isSafeInteger)
    }
  })

  const attested = { registry: { attestation_required: { ai: true } } }
  const refusalOfA = ({ market }: World, job: Job): string | null =>
    explainWaiting(market, job).providers[0]?.refusal ?? null

  /** From when on something holds, and whether it does now. */
  type Boundary = (world: World) => readonly [t: number, holds: () => boolean]
  const FROM: Readonly<Record<string, { policy?: Written; of: Boundary }>> = {
    'a job in backoff is ready': {
      of: (world) => {
        const { job } = world.fail(world.run())
        const isReady = () => explainWaiting(world.market, job).waitReason === 'ready'
        return [job.notBefore ?? 0, isReady]
      },
    },
    'a lease has expired': {
      of: (world) => {
        const lease = world.run()
        return [600_000, () => lease.status === 'EXPIRED']
      },
    },
    'a job is over its life': {
      of: (world) => {
        const job = world.enqueue({ ttlAbsSecs: 5 })
        return [5_000, () => job.status === 'EXPIRED']
      },
    },
    'an attestation holds': {
      policy: attested,
      of: (world) => {
        world.a.attestation = { notBefore: 5_000, notAfter: 9_000 }
        const job = world.enqueue()
        return [5_000, () => refusalOfA(world, job) === null]
      },
    },
  }
  const UNTIL: typeof FROM = {
    'a lease is live': {
      of: (world) => {
        const lease = world.run()
        return [600_000, () => refusal(() => world.ack(lease)) === null]
      },
    },
    'a provider is denied for a job': {
      of: (world) => {
        const { job } = world.run()
        world.at(600_000)
        return [660_000, () => refusalOfA(world, job) === 'denied_for_job']
      },
    },
    'a provider cools down for a class': {
      of: (world) => {
        const { job } = world.decline(world.assign())
        return [30_000, () => refusalOfA(world, job) === 'class_cooling_down']
      },
    },
    'a provider cools down for all work': {
      of: (world) => {
        for (let i = 0; i < 3; i++) world.fail(world.run())
        const job = world.enqueue()
        return [30_000, () => refusalOfA(world, job) === 'cooling_down']
      },
    },
    'an attestation holds': {
      policy: attested,
      of: (world) => {
        world.a.attestation = { notBefore: 0, notAfter: 9_000 }
        const job = world.enqueue()
        return [9_000, () => refusalOfA(world, job) === null]
      },
    },
    'the window of a caller is full': {
      policy: { queue: { quotas: { requester_window: { jobs: 1, secs: 10 } } } },
      of: (world) => {
        world.run()
        const job = world.enqueue()
        return [10_000, () => refusalOfA(world, job) === 'requester_rate_limited']
      },
    },
  }

  it.each(Object.keys(FROM))('VALUE-7: %s from t on: not 1 ms before it, but at it', (name) => {
    expect(aroundT(FROM[name])).toEqual([false, true, true])
  })

  it.each(Object.keys(UNTIL))('VALUE-7: %s until t: 1 ms before it, but not at it', (name) => {
    expect(aroundT(UNTIL[name])).toEqual([true, false, false])
  })

  function aroundT(row: { policy?: Written; of: Boundary } | undefined): boolean[] {
    const world = new World(row?.policy)
    const [t, holds] = row?.of(world) ?? [0, () => false]
    return [t - 1, t, t + 1].map((nowMs) => {
      world.at(nowMs)
      return holds()
    })
  }
})

/** What is told of a story, without the providers of its world. */
function played({ policy, byWorkers = false, tell }: Story): {
  events: readonly MarketEvent[]
  expected: readonly MarketEvent[]
} {
  const world = new World(policy, { byWorkers })
  const before = world.events.length
  const expected = tell(world)
  return { events: world.events.slice(before), expected }
}

/** A worker of a that leaves with an acked lease. */
function loseWorker(world: World): void {
  const { market, a } = world
  const workerId = 'w-1' as WorkerId
  connectWorker(market, a, { workerId, slots: 1, holds: [] })
  world.run()
  disconnectWorker(market, a, workerId)
}

/** The events of a new world and of all stories. */
function allEvents(): readonly MarketEvent[] {
  const stories = Object.values(STORIES).flatMap((story) => played(story).events)
  return [...new World().events, ...stories]
}

function offered(lease: Lease): MarketEvent[] {
  const { id: jobId } = lease.job
  return [{ type: 'jobEnqueued', at: 0, jobId }, assigned(lease, 0, 600_000)]
}

function started(lease: Lease): MarketEvent[] {
  const { id: jobId } = lease.job
  return [...offered(lease), { type: 'jobStarted', at: 0, jobId, leaseId: lease.id }]
}

function assigned({ id: leaseId, job, provider }: Lease, at: number, deadline: number) {
  const of = { jobId: job.id, providerId: provider.id, leaseId }
  return { type: 'jobAssigned', at, ...of, deadline } as const
}

function completed({ id: leaseId, job, provider }: Lease, at: number) {
  const of = { jobId: job.id, providerId: provider.id, leaseId }
  return { type: 'jobCompleted', at, ...of, digest: DIGEST } as const
}

type Of<Type extends MarketEvent['type']> = Extract<MarketEvent, { readonly type: Type }>

function cancelled(
  { id: leaseId }: Lease,
  at: number,
  reason: Of<'leaseCancelled'>['reason'],
): MarketEvent {
  return { type: 'leaseCancelled', at, leaseId, reason }
}

/** A fail of the worker, with the code that `world.fail` gives. */
function failed(lease: Lease, at: number): MarketEvent {
  return { ...cancelled(lease, at, 'provider_fail'), code: 'oom' } as MarketEvent
}

/** Back in the queue, and ready when the job says so unless another time is given. */
function requeued(
  { job }: Lease,
  at: number,
  reason: Of<'jobRequeued'>['reason'],
  notBefore: number | null = backoffEnd(job, at),
): MarketEvent {
  return { type: 'jobRequeued', at, jobId: job.id, reason, notBefore }
}

/** After a first charge: five seconds, give or take a tenth, in whole seconds. */
function backoffEnd({ notBefore }: Job, at: number): number | null {
  expect([4_000, 5_000, 6_000]).toContain((notBefore ?? 0) - at)
  return notBefore
}
