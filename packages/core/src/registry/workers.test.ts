import { fc, test } from '@fast-check/vitest'
import { beforeEach, describe, expect, it } from 'vitest'
import { seedNamed } from '../../test/any-market.ts'
import { callOf, DIGEST, WITH_PROOF, WITHOUT_HEALTH, World } from '../../test/world.ts'
import type { LeaseId, WorkerId } from '../encoding/ids.ts'
import { KIND_NAMES, KINDS } from '../enqueue/kinds.ts'
import { FairleadError } from '../errors.ts'
import { giveBack } from '../lease/give-back.ts'
import type { Lease } from '../lease/lease.ts'
import { ackLease, releaseLease, renewLease } from '../lease/lease-calls.ts'
import { isLive } from '../lease/lease-table.ts'
import { nextDueAt } from '../market/advance-market.ts'
import type { Job } from '../market/job.ts'
import { dispatchRound } from '../match/dispatch-round.ts'
import { refusalOf } from '../match/eligibility.ts'
import { termsNow } from '../match/explain-job.ts'
import { backoffSecs } from '../outcome/backoff.ts'
import { completeLease, decideProof } from '../outcome/complete-lease.ts'
import { leaseCap } from './provider.ts'
import { setProviderStatus } from './provider-status.ts'
import {
  connectWorker,
  disconnectWorker,
  leasesOfWorker,
  setWorkerSlots,
  type WorkerConnect,
} from './worker-calls.ts'
import { freestWorker, newWorkers } from './workers.ts'

const id = (name: string) => name as WorkerId

let world: World
let seeds: number

beforeEach(() => {
  seeds = 0
  world = new World({}, { byWorkers: true })
})

function connect(name: string, given: Partial<WorkerConnect> = {}): readonly Lease[] {
  const { slots = 4, holds = null } = given
  return connectWorker(world.market, world.a, { workerId: id(name), slots, holds })
}

function leave(name: string): void {
  disconnectWorker(world.market, world.a, id(name))
}

/** One round: the new leases, and those that got another worker. */
function round(): { readonly leases: readonly Lease[]; readonly moved: readonly Lease[] } {
  return dispatchRound(world.market, seedNamed(++seeds))
}

/** So many new jobs, and a round. */
function assign(count = 1): readonly Lease[] {
  for (let i = 0; i < count; i++) world.enqueue()
  return round().leases
}

/** The error that a call is refused with. */
function refused(call: () => unknown): FairleadError {
  try {
    call()
  } catch (error) {
    if (error instanceof FairleadError) return error
    throw error
  }
  throw new Error('it was not refused')
}

function holderOf(lease: Lease): string | null {
  return lease.workerId
}

describe('the cap', () => {
  it('WORKER-1: is the lowest of policy, what the provider declared, and the slots of connected workers', () => {
    const { market, a, c } = world
    expect(leaseCap(a, market.policy)).toBe(0)
    connect('w-1', { slots: 3 })
    connect('w-2', { slots: 5 })
    expect(leaseCap(a, market.policy)).toBe(8)
    connect('w-3', { slots: 100 })
    expect(leaseCap(a, market.policy)).toBe(16)
    leave('w-3')
    setWorkerSlots(market, a, { workerId: id('w-2'), slots: 0 })
    expect(leaseCap(a, market.policy)).toBe(3)
    connectWorker(market, c, { workerId: id('w-1'), slots: 9, holds: null })
    expect(leaseCap(c, market.policy)).toBe(1)
  })

  it('WORKER-1: without a connected worker nothing is assigned, and the reason is lease_cap_reached', () => {
    const job = world.enqueue()
    expect(round().leases).toEqual([])
    expect(refusalOf(world.a, job, termsNow(world.market))).toBe('lease_cap_reached')
    connect('w-1')
    expect(round().leases).toHaveLength(1)
  })

  it('WORKER-1: a provider that is not served by workers knows no such limit', () => {
    const bare = new World()
    expect(leaseCap(bare.a, bare.market.policy)).toBe(16)
    expect(bare.assign().workerId).toBeNull()
    expect(() =>
      connectWorker(bare.market, bare.a, { workerId: id('w'), slots: 1, holds: null }),
    ).toThrow('not served by workers')
  })

  it('WORKER-1: fewer slots than leases block new ones and cancel nothing, a lowered policy does', () => {
    connect('w-1', { slots: 3 })
    const leases = assign(5)
    expect(leases).toHaveLength(3)
    setWorkerSlots(world.market, world.a, { workerId: id('w-1'), slots: 1 })
    expect(leases.every(({ status }) => isLive(status))).toBe(true)
    world.complete(leases[0] as Lease)
    expect(round().leases).toEqual([])
    world.policy({ queue: { quotas: { leases_max_per_provider: 2 } } })
    expect(leases.filter(({ status }) => isLive(status))).toHaveLength(2)
    world.policy({ queue: { quotas: { leases_max_per_provider: 1 } } })
    expect(leases.filter(({ status }) => isLive(status))).toHaveLength(1)
  })

  it.each([
    ['worker_id', { workerId: id('') }],
    ['worker_id', { workerId: id('a b') }],
    ['worker_id', { workerId: id('ü') }],
    ['worker_id', { workerId: id('x'.repeat(129)) }],
    ['slots', { slots: -1 }],
    ['slots', { slots: 1.5 }],
    ['slots', { slots: Number.NaN }],
  ])('WORKER-1: %s %j is refused', (field, given) => {
    const call = { workerId: id('w'), slots: 1, holds: null, ...given }
    const error = refused(() => connectWorker(world.market, world.a, call))
    expect(error).toMatchObject({ code: 'InvalidParams', details: { field } })
    expect(world.a.workers?.byId.size).toBe(0)
  })

  it('WORKER-1: slots and workers have a maximum', () => {
    connect('x'.repeat(128), { slots: 1_000_000 })
    expect(refused(() => connect('w', { slots: 1_000_001 }))).toMatchObject({
      code: 'LimitExceeded',
    })
    for (let i = 1; i < 1_024; i++) connect(`w-${i}`, { slots: 0 })
    expect(refused(() => connect('w-1024'))).toMatchObject({
      code: 'LimitExceeded',
      details: { limit: 'workers', max: 1_024 },
    })
    connect('w-1', { slots: 2 })
    leave('w-1')
    connect('w-1024')
  })
})

describe('which worker', () => {
  it('WORKER-2: the one with the most free slots, then the lowest id', () => {
    connect('w-2', { slots: 2 })
    connect('w-1', { slots: 2 })
    connect('w-3', { slots: 3 })
    expect(assign(7).map(holderOf)).toEqual(['w-3', 'w-1', 'w-2', 'w-3', 'w-1', 'w-2', 'w-3'])
  })

  it('WORKER-2: the order in which workers came does not matter', () => {
    const rows = ['w-3', 'w-1', 'w-2'].map((name) => ({ id: id(name), slots: 2, goneSince: null }))
    for (const order of [rows, rows.toReversed()]) {
      expect(freestWorker(newWorkers(order))?.id).toBe('w-1')
    }
    expect(freestWorker(newWorkers(rows.map((row) => ({ ...row, slots: 0 }))))).toBeNull()
    expect(freestWorker(newWorkers(rows.map((row) => ({ ...row, goneSince: 1 }))))).toBeNull()
  })
})

describe('a worker that leaves', () => {
  it('WORKER-3: before the ack: its lease goes to another at once, with the same time for the ack', () => {
    connect('w-1', { slots: 1 })
    const [lease] = assign() as [Lease]
    connect('w-2', { slots: 1 })
    world.at(3_000)
    leave('w-1')
    expect(round().moved).toEqual([lease])
    expect(lease).toMatchObject({ workerId: 'w-2', status: 'ACTIVE', attempt: 0 })
    expect(world.events.at(-1)).toMatchObject({ type: 'leaseMoved', workerId: 'w-2' })
    expect(world.a.workers?.byId.has(id('w-1'))).toBe(false)
    world.at(4_999)
    expect(lease.status).toBe('ACTIVE')
    world.at(5_000)
    expect([lease.status, lease.job.retries]).toEqual(['CANCELLED', 1])
  })

  it('WORKER-3: before the ack, with no room elsewhere: as soon as there is some, the oldest first', () => {
    connect('w-1', { slots: 2 })
    const [first] = assign() as [Lease]
    world.at(1)
    const [second] = assign() as [Lease]
    leave('w-1')
    expect(round().moved).toEqual([])
    world.at(1_000)
    connect('w-2', { slots: 1 })
    expect(round().moved).toEqual([first])
    expect(round().moved).toEqual([])
    setWorkerSlots(world.market, world.a, { workerId: id('w-2'), slots: 2 })
    expect(round().moved).toEqual([second])
  })

  it('WORKER-3: a slot that a lease leaves goes to one that lost its worker before a new job gets it', () => {
    connect('w-1', { slots: 1 })
    connect('w-2', { slots: 1 })
    const leases = assign(2)
    const stays = world.ack(leases.find(({ workerId }) => workerId === 'w-2') as Lease)
    leave('w-1')
    world.enqueue()
    expect(round()).toMatchObject({ moved: [], leases: [] })
    world.complete(stays)
    const { moved, leases: fresh } = round()
    expect(moved.map(holderOf)).toEqual(['w-2'])
    expect(fresh).toEqual([])
  })

  it('WORKER-4: after the ack: its lease stays its own, and it goes on with it when it is back', () => {
    connect('w-1')
    const [lease] = assign() as [Lease]
    world.ack(lease)
    leave('w-1')
    connect('w-2')
    expect(round().moved).toEqual([])
    world.at(14_999)
    expect(connect('w-1')).toEqual([lease])
    world.at(100_000)
    expect([lease.status, lease.workerId]).toEqual(['ACTIVE', 'w-1'])
    expect(world.complete(lease).job.status).toBe('COMPLETED')
  })

  it('WORKER-4: for 15 s: its acked lease is given back then with its backoff, not charged to anybody', () => {
    connect('w-1')
    const [lease] = assign() as [Lease]
    world.ack(lease)
    world.at(100)
    leave('w-1')
    expect(nextDueAt(world.market)).toBe(15_100)
    world.at(15_099)
    expect(lease.status).toBe('ACTIVE')
    world.at(20_000)
    expect(lease.status).toBe('CANCELLED')
    const notBefore = 15_100 + 1_000 * backoffSecs('ai', lease.job.id, 0, world.market.policy)
    expect(lease.job).toMatchObject({ status: 'QUEUED', retries: 0, notBefore })
    expect(world.a).toMatchObject({ health: 1_000, failures: 0, cooldownUntil: null })
    expect(world.a.workers?.byId.size).toBe(0)
    expect(world.events.slice(-2)).toMatchObject([
      { type: 'leaseCancelled', at: 15_100, reason: 'worker_lost' },
      { type: 'jobRequeued', at: 15_100, reason: 'WORKER_LOST', notBefore },
    ])
  })

  it('WORKER-4: with a registration it is presumed lost after 2 s, with anything else after 15 s', () => {
    const { policy } = world.market
    const lostMs = KIND_NAMES.map((kind) => [kind, KINDS[kind].workerLostMs(policy)])
    expect(Object.fromEntries(lostMs)).toEqual({
      ai: 15_000,
      quantum: 15_000,
      task: 15_000,
      registration: 2_000,
    })
  })

  it('WORKER-4: each absence counts anew, and so does a changed policy', () => {
    connect('w-1')
    const [lease] = assign() as [Lease]
    world.ack(lease)
    leave('w-1')
    world.at(10_000)
    connect('w-1')
    leave('w-1')
    world.at(24_999)
    expect(lease.status).toBe('ACTIVE')
    world.policy({ queue: { worker_lost_ms: 60_000 } })
    world.at(69_999)
    expect(lease.status).toBe('ACTIVE')
    world.at(70_000)
    expect(lease.status).toBe('CANCELLED')
  })

  it('WORKER-4: without a live lease it is forgotten at once, else with its last one', () => {
    connect('w-1')
    leave('w-1')
    expect(world.a.workers?.byId.size).toBe(0)
    connect('w-1')
    const [lease] = assign() as [Lease]
    world.ack(lease)
    leave('w-1')
    expect(world.a.workers?.byId.size).toBe(1)
    world.complete(lease)
    expect(world.a.workers?.byId.size).toBe(0)
    expect(nextDueAt(world.market)).not.toBe(15_000)
  })

  it('WORKER-4: unacked and with no other worker, the ack timeout comes first', () => {
    connect('w-1')
    const [lease] = assign() as [Lease]
    leave('w-1')
    world.at(5_000)
    expect([lease.status, lease.job.retries]).toEqual(['CANCELLED', 1])
    world.policy({ queue: { worker_lost_ms: 1_000 } })
    world.at(20_000)
    connect('w-1')
    const [next] = assign() as [Lease]
    leave('w-1')
    world.at(21_000)
    expect([next.status, next.job.retries]).toEqual(['CANCELLED', next.job === lease.job ? 1 : 0])
  })

  it('WORKER-4: leaving twice, or never having been there, is nothing', () => {
    connect('w-1')
    const events = world.events.length
    leave('w-1')
    leave('w-1')
    leave('w-2')
    expect(world.events.slice(events).map(({ type }) => type)).toEqual(['workerLeft'])
  })
})

describe('a job that kills its worker', () => {
  /** An acked attempt whose worker is lost, as soon as the job is ready. */
  function lose(job: Job, { at = world }: { at?: World } = {}): Job {
    at.at(Math.max(at.market.nowMs, job.notBefore ?? 0))
    giveBack(at.market, at.run({ job }), 'worker_lost')
    return job
  }

  it.each([{}, WITHOUT_HEALTH])(
    'WORKER-16: two losses give it back with its backoff, the third in a row ends it',
    (written) => {
      const at = new World(written)
      const job = at.enqueue()
      for (const losses of [1, 2]) {
        lose(job, { at })
        const delayMs = 1_000 * backoffSecs('ai', job.id, 0, at.market.policy)
        expect(job).toMatchObject({ status: 'QUEUED', retries: 0, workerLosses: losses })
        expect(job.notBefore).toBe(at.market.nowMs + delayMs)
      }
      lose(job, { at })
      expect(job).toMatchObject({ status: 'FAILED', reason: 'worker_lost', retries: 0 })
      expect(at.a).toMatchObject({
        health: 1_000,
        failures: 0,
        cooldownUntil: null,
        status: 'ACTIVE',
      })
      expect(job.denials).toBeNull()
    },
  )

  it('WORKER-16: the backoff is that of its charges so far', () => {
    const at = new World()
    const { job } = at.fail(at.run())
    at.at(job.notBefore as number)
    at.fail(at.run({ job }))
    lose(job, { at })
    const delayMs = 1_000 * backoffSecs('ai', job.id, 2, at.market.policy)
    expect(job).toMatchObject({ retries: 2, notBefore: at.market.nowMs + delayMs })
  })

  /** Any other end of an acked attempt, after which the job waits again. */
  const OTHER_ENDS: Readonly<Record<string, (at: World, lease: Lease) => unknown>> = {
    'a fail': (at, lease) => at.fail(lease),
    'a decline': (at, lease) => at.decline(lease),
    'a release': (at, lease) => at.release(lease),
    'a deadline': (at, lease) => at.at(lease.tDeadline),
    'a status of its provider': ({ market, a }) => {
      setProviderStatus(market, a, 'JAILED')
      setProviderStatus(market, a, 'ACTIVE')
    },
    'a completion whose proof is invalid': (at, lease) => {
      at.policy({ ...WITH_PROOF, ...WITHOUT_HEALTH })
      decideProof(at.market, at.complete(lease).job, false)
    },
  }

  it.each(Object.keys(OTHER_ENDS))('WORKER-16: %s of an acked attempt ends the run', (name) => {
    const at = new World(WITHOUT_HEALTH)
    const job = at.enqueue()
    lose(job, { at })
    lose(job, { at })
    at.at(job.notBefore as number)
    OTHER_ENDS[name]?.(at, at.run({ job }))
    expect(job).toMatchObject({ status: 'QUEUED', workerLosses: 0 })
    lose(job, { at })
    lose(job, { at })
    expect(job).toMatchObject({ status: 'QUEUED', workerLosses: 2 })
    expect(lose(job, { at }).status).toBe('FAILED')
  })

  it('WORKER-16: an attempt that was not acked neither counts nor ends the run', () => {
    const at = new World()
    const job = at.enqueue()
    lose(job, { at })
    lose(job, { at })
    at.at(job.notBefore as number)
    giveBack(at.market, at.assign({ job }), 'worker_lost')
    expect(job).toMatchObject({ status: 'QUEUED', workerLosses: 2, notBefore: null })
    at.assign({ job })
    at.at(at.market.nowMs + 5_000)
    expect(job).toMatchObject({ status: 'QUEUED', workerLosses: 2, retries: 1 })
    expect(lose(job, { at }).status).toBe('FAILED')
  })

  it('STATE-9: a completion without an ack counts as an acked attempt, and ends the run', () => {
    const at = new World(WITH_PROOF)
    const job = at.enqueue()
    lose(job, { at })
    at.at(job.notBefore as number)
    const lease = at.complete(at.assign({ job }))
    expect([lease.isAcked, job.workerLosses]).toEqual([true, 0])
  })

  it('WORKER-16: how many losses end it is policy, and null is no limit', () => {
    const most = (worker_lost_max: number | null) => ({ queue: { retries: { worker_lost_max } } })
    const once = new World(most(1))
    expect(lose(once.enqueue(), { at: once }).reason).toBe('worker_lost')
    const never = new World({ queue: { ...most(null).queue, ttl: { rel_max_secs: null } } })
    const job = never.enqueue()
    for (let i = 0; i < 50; i++) lose(job, { at: never })
    expect(job).toMatchObject({ status: 'QUEUED', workerLosses: 50, retries: 0 })
    never.policy(most(51))
    expect(lose(job, { at: never }).status).toBe('FAILED')
  })

  it('WORKER-16: workers that are killed one after the other end it, and nobody else suffers', () => {
    const job = world.enqueue()
    for (const name of ['w-1', 'w-2', 'w-3']) {
      connect(name)
      world.at(Math.max(world.market.nowMs, job.notBefore ?? 0))
      for (const lease of round().leases) world.ack(lease)
      leave(name)
      world.at(world.market.nowMs + 15_000)
    }
    expect(job).toMatchObject({ status: 'FAILED', reason: 'worker_lost' })
    connect('w-4')
    expect(assign()).toHaveLength(1)
  })
})

describe('a worker that connects', () => {
  it('WORKER-5: disowns what it does not name; what it had acked counts as lost, uncharged', () => {
    connect('w-1')
    const [kept, dropped] = assign(2) as [Lease, Lease]
    world.ack(kept)
    world.ack(dropped)
    leave('w-1')
    const foreign = `0x${'1'.repeat(64)}` as LeaseId
    expect(connect('w-1', { holds: [kept.id, foreign] })).toEqual([kept])
    expect(dropped.status).toBe('CANCELLED')
    expect(dropped.job).toMatchObject({ status: 'QUEUED', retries: 0 })
    expect(world.events.slice(-2)).toMatchObject([
      { type: 'leaseCancelled', reason: 'disowned' },
      { type: 'jobRequeued', reason: 'WORKER_LOST' },
    ])
    expect(dropped.job.workerLosses).toBe(1)
    expect(kept.status).toBe('ACTIVE')
  })

  it('WORKER-5: disowns what it has not acked; that is QUEUED at once', () => {
    connect('w-1')
    const [dropped] = assign() as [Lease]
    connect('w-1', { holds: [] })
    expect(dropped.job).toMatchObject({ status: 'QUEUED', notBefore: null, workerLosses: 0 })
    expect(world.events.at(-1)).toMatchObject({ type: 'jobRequeued', reason: 'RELEASED' })
  })

  it('WORKER-5: disowns nothing if it does not say what it has', () => {
    connect('w-1')
    const leases = assign(2)
    leave('w-1')
    expect(connect('w-1', { holds: null }).map(({ id: lease }) => lease)).toEqual(
      leases.map(({ id: lease }) => lease).sort(),
    )
    expect(connect('w-1', { holds: [] })).toEqual([])
    expect(world.a.liveLeases).toBe(0)
  })

  it('WORKER-5: while it is connected already, is the same worker with new slots, and no event', () => {
    connect('w-1', { slots: 4 })
    const events = world.events.length
    connect('w-1', { slots: 2 })
    expect(leaseCap(world.a, world.market.policy)).toBe(2)
    expect(world.events).toHaveLength(events)
  })

  it('WORKER-5: slots of a worker that is not connected cannot be set', () => {
    const set = (name: string) =>
      refused(() => setWorkerSlots(world.market, world.a, { workerId: id(name), slots: 1 }))
    expect(set('w-1').code).toBe('NotFound')
    connect('w-1')
    world.ack((assign() as [Lease])[0])
    leave('w-1')
    expect(set('w-1').code).toBe('NotFound')
  })
})

describe('who may act', () => {
  it('WORKER-6: only the worker of the lease; to another one it is Forbidden and named', () => {
    connect('w-1', { slots: 1 })
    const [lease] = assign() as [Lease]
    const { market } = world
    const stranger = { ...callOf(lease), workerId: id('w-2') }
    const own = { ...callOf(lease), workerId: id('w-1') }
    const calls = [
      () => ackLease(market, stranger),
      () => renewLease(market, stranger),
      () => releaseLease(market, stranger),
      () => completeLease(market, { ...stranger, digest: DIGEST, actualUnits: null }),
    ]
    for (const call of calls) {
      expect(refused(call)).toMatchObject({ code: 'Forbidden', details: { workerId: 'w-1' } })
    }
    expect(ackLease(market, own).isAcked).toBe(true)
    expect(completeLease(market, { ...own, digest: DIGEST, actualUnits: null }).status).toBe(
      'COMPLETED',
    )
    expect(refused(() => ackLease(market, stranger)).code).toBe('Forbidden')
  })

  it('WORKER-6: a worker whose lease moved or was given back can do nothing with it any more', () => {
    connect('w-1', { slots: 1 })
    const [moved] = assign() as [Lease]
    connect('w-2', { slots: 2 })
    leave('w-1')
    round()
    const old = { ...callOf(moved), workerId: id('w-1') }
    expect(refused(() => ackLease(world.market, old)).code).toBe('Forbidden')
    connect('w-1', { slots: 1, holds: [moved.id] })
    expect(refused(() => ackLease(world.market, old)).code).toBe('Forbidden')

    world.ack(moved)
    leave('w-2')
    world.at(15_000)
    const lost = { ...callOf(moved), workerId: id('w-2') }
    expect(refused(() => renewLease(world.market, lost)).code).toBe('LeaseNotLive')
  })

  it('WORKER-6: a worker that has left and is not lost yet may still finish', () => {
    connect('w-1')
    const [lease] = assign() as [Lease]
    leave('w-1')
    const own = { ...callOf(lease), workerId: id('w-1') }
    ackLease(world.market, own)
    connect('w-2')
    expect(round().moved).toEqual([])
    completeLease(world.market, { ...own, digest: DIGEST, actualUnits: null })
    expect(lease.job.status).toBe('COMPLETED')
  })
})

it('LEASE-7: a suspended provider loses the leases of all its workers, gone or not', () => {
  connect('w-1')
  connect('w-2')
  const leases = assign(4)
  for (const lease of leases.slice(0, 2)) world.ack(lease)
  leave('w-1')
  setProviderStatus(world.market, world.a, 'SUSPENDED')
  expect(leases.some(({ status }) => isLive(status))).toBe(false)
  expect(world.market.stranded.size).toBe(0)
  expect([...(world.a.workers?.byId.keys() ?? [])]).toEqual(['w-2'])
})

/** What workers, requesters and time do, in any order. */
const anySteps = fc.array(
  fc.oneof(
    fc.record({
      op: fc.constant('connect' as const),
      worker: fc.nat({ max: 3 }),
      slots: fc.nat({ max: 3 }),
      keeps: fc.option(fc.boolean(), { nil: null }),
    }),
    fc.record({ op: fc.constant('leave' as const), worker: fc.nat({ max: 3 }) }),
    fc.record({
      op: fc.constant('slots' as const),
      worker: fc.nat({ max: 3 }),
      slots: fc.nat({ max: 3 }),
    }),
    fc.record({ op: fc.constant('enqueue' as const) }),
    fc.record({
      op: fc.constantFrom('ack' as const, 'complete' as const, 'release' as const),
      nth: fc.nat({ max: 5 }),
    }),
    fc.record({ op: fc.constant('wait' as const), ms: fc.nat({ max: 9_000 }) }),
  ),
  { maxLength: 60 },
)

type Step = typeof anySteps extends fc.Arbitrary<readonly (infer S)[]> ? S : never

function take(step: Step): void {
  const { market, a } = world
  const name = 'worker' in step ? `w-${step.worker}` : ''
  if (step.op === 'connect') {
    const own = leasesOfWorker(market, a, id(name)).map((lease) => lease.id)
    const holds = step.keeps === null ? null : step.keeps ? own : own.slice(1)
    connect(name, { slots: step.slots, holds })
  } else if (step.op === 'leave') leave(name)
  else if (step.op === 'enqueue') world.enqueue()
  else if (step.op === 'wait') world.at(market.nowMs + step.ms)
  else if (step.op === 'slots') {
    const isThere = a.workers?.byId.get(id(name))?.goneSince === null
    if (isThere) setWorkerSlots(market, a, { workerId: id(name), slots: step.slots })
  } else {
    const live = [...(market.leasesOf.get(a.id)?.values() ?? [])]
    const lease = live[step.nth % Math.max(1, live.length)]
    if (lease !== undefined) world[step.op](lease)
  }
}

/** What holds between any two steps, seen from the leases alone. */
function check(assignedTo: ReadonlyMap<Lease, string>): void {
  const { market, a } = world
  const live = [...market.leases.values()].filter(({ status }) => isLive(status))
  const workers = [...(a.workers?.byId.values() ?? [])]
  for (const worker of workers) {
    expect(live.filter(({ workerId }) => workerId === worker.id)).toHaveLength(worker.leases)
    if (worker.goneSince !== null) expect(worker.leases).toBeGreaterThan(0)
  }
  const connected = workers.filter(({ goneSince }) => goneSince === null)
  expect(a.workers?.slots).toBe(connected.reduce((sum, { slots }) => sum + slots, 0))
  const hasRoom = connected.some(({ slots, leases }) => slots > leases)
  for (const lease of live) {
    const holder = workers.find((worker) => worker.id === lease.workerId)
    expect(holder, 'every live lease has a worker that is known').toBeDefined()
    const isGone = holder !== undefined && holder.goneSince !== null
    expect(market.stranded.has(lease)).toBe(isGone && !lease.isAcked)
    // After a round nobody waits for a worker while another has a free slot.
    if (isGone && !lease.isAcked) expect(hasRoom).toBe(false)
    if (isGone) expect((holder.goneSince ?? 0) + 15_000).toBeGreaterThan(market.nowMs)
    if (lease.isAcked) expect(lease.workerId).toBe(assignedTo.get(lease))
  }
}

test.prop([anySteps])(
  'WORKER-2: whatever comes and goes, a lease is with one worker that has a slot for it, and only time charges',
  (steps) => {
    seeds = 0
    world = new World({}, { byWorkers: true })
    const assignedTo = new Map<Lease, string>()
    for (const step of steps) {
      try {
        take(step)
      } catch (error) {
        if (!(error instanceof FairleadError)) throw error
      }
      const { leases, moved } = round()
      for (const lease of [...leases, ...moved]) {
        assignedTo.set(lease, lease.workerId ?? '')
        const worker = world.a.workers?.byId.get(lease.workerId as WorkerId)
        expect(worker?.goneSince).toBeNull()
        expect(worker?.leases).toBeLessThanOrEqual(worker?.slots ?? 0)
      }
      check(assignedTo)
    }
    const charges = world.events.flatMap((event) =>
      event.type === 'jobRequeued' || event.type === 'jobExpired' ? [event.reason] : [],
    )
    const free = ['RELEASED', 'WORKER_LOST', 'LEASE_CANCELLED', 'ACK_TIMEOUT', 'retries_exhausted']
    expect(charges.filter((reason) => !free.includes(reason))).toEqual([])
  },
)
