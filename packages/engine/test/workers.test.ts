import { type Caller, callerOf, type JobId, type LeaseId, type ProviderId } from '@fairlead/core'
import { type Engine, openEngine } from '@fairlead/engine'
import { TestClock } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type AppendFate, HeldStore } from './held-store.ts'
import { ManualWorker } from './manual-worker.ts'

const START = 1_760_000_000_000
const ATLAS = 'provider:atlas' as ProviderId
const ACME: Caller = callerOf('acme')
const DIGEST = `0x${'d'.repeat(64)}`
const OFFER = { capabilities: new Set(['task'] as const), models: new Set(['*']) }

let store: HeldStore
let clock: TestClock
let engine: Engine

beforeEach(async () => {
  store = new HeldStore()
  clock = new TestClock(START)
  engine = await openEngine({ store, clock })
  await engine.registerProvider(ATLAS, OFFER)
})
afterEach(() => engine.close())

function connect(id: string, given: { slots?: number; holds?: readonly LeaseId[] | null } = {}) {
  return ManualWorker.connect(engine, ATLAS, { id, slots: 1, ...given })
}

async function enqueue(): Promise<JobId> {
  const payload = { name: 'resize', args: {} }
  const jobId = await engine.enqueue({ kind: 'task', payload }, { caller: ACME })
  await clock.settle()
  return jobId
}

/** A job that the worker has acked. */
async function running(worker: ManualWorker): Promise<JobId> {
  const jobId = await enqueue()
  expect(worker.offered.jobId).toBe(jobId)
  await worker.session.ack(worker.offered.leaseId)
  return jobId
}

/** The process dies, and another one starts some time later. */
async function restart(afterMs: number): Promise<void> {
  const at = clock.now() + afterMs
  clock = new TestClock(at)
  engine = await openEngine({ store, clock })
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'ok',
    (error: { code: string }) => error.code,
  )
}

async function story(jobId: JobId): Promise<string[]> {
  const rows = await engine.timeline(jobId)
  return rows.map(({ action, details }) => [action, details['reason']].filter(Boolean).join(' '))
}

function failing(...fates: AppendFate[]): void {
  store.fate = () => fates.shift() ?? 'ok'
}

describe('a lease', () => {
  it('WORKER-2: is pushed to exactly one worker', async () => {
    const workers = [await connect('w-1', { slots: 2 }), await connect('w-2', { slots: 3 })]
    for (let i = 0; i < 5; i++) await enqueue()
    expect(workers.map(({ offers }) => offers.length)).toEqual([2, 3])
    const ids = workers.flatMap(({ offers }) => offers.map(({ leaseId }) => leaseId))
    expect(new Set(ids).size).toBe(5)
  })

  it('WORKER-3: is pushed to another worker if the first leaves before the ack', async () => {
    const first = await connect('w-1')
    const jobId = await enqueue()
    const second = await connect('w-2')
    await clock.advance(3_000)
    await first.session.close()
    await clock.settle()
    const payload = Uint8Array.from(first.offered.payload as Uint8Array)
    expect(second.offers).toEqual([{ ...first.offered, payload, at: START + 3_000 }])
    // Its time for the ack is what it was.
    expect(second.offered.ackBy).toBe(START + 5_000)
    await second.session.ack(second.offered.leaseId)
    expect(await story(jobId)).toEqual(['jobEnqueued', 'jobAssigned', 'leaseMoved', 'jobStarted'])
  })

  it('WORKER-3: waits for a worker if there is no other, and goes to the next that connects', async () => {
    const first = await connect('w-1')
    const jobId = await enqueue()
    await first.session.close()
    await clock.advance(4_000)
    const second = await connect('w-2')
    await clock.settle()
    expect(second.offers.map((offer) => offer.jobId)).toEqual([jobId])
  })

  it('WORKER-6: is closed to other workers of its provider, while it lives and afterwards', async () => {
    const holder = await connect('w-1')
    await running(holder)
    const other = await connect('w-2')
    const { leaseId } = holder.offered
    expect(await codeOf(other.session.complete(leaseId, { digest: DIGEST }))).toBe('Forbidden')
    await holder.session.complete(leaseId, { digest: DIGEST })
    expect(await codeOf(other.session.complete(leaseId, { digest: DIGEST }))).toBe('Forbidden')
    expect(await codeOf(holder.session.complete(leaseId, { digest: DIGEST }))).toBe('ok')
  })

  it('WORKER-8: that is cancelled, or reaches its deadline, is told to its worker', async () => {
    const worker = await connect('w-1')
    const jobId = await running(worker)
    await engine.cancel(jobId, 'operator')
    await running(worker)
    await clock.advance(600_000)
    const [first, second] = worker.offers.map(({ leaseId }) => leaseId)
    expect(worker.lostLeases).toEqual([
      [first, 'job_ended'],
      [second, 'deadline'],
    ])
  })
})

describe('the cap', () => {
  it('WORKER-1: is the lowest of policy, what the provider declared, and the slots', async () => {
    const worker = await connect('w-1', { slots: 3 })
    for (let i = 0; i < 9; i++) await enqueue()
    expect(worker.offers).toHaveLength(3)
    const [waiting] = (await engine.listJobs({ status: 'QUEUED' })).jobs
    expect(await engine.explain(waiting?.id as JobId)).toMatchObject({
      providers: [{ id: ATLAS, refusal: 'lease_cap_reached' }],
    })
    await engine.updateProvider(ATLAS, { leasesMax: 5 })
    await worker.session.setSlots(9)
    await clock.settle()
    expect(worker.offers).toHaveLength(5)
    await engine.setPolicy({ queue: { quotas: { leases_max_per_provider: 7 } } })
    await engine.updateProvider(ATLAS, { leasesMax: null })
    await clock.settle()
    expect(worker.offers).toHaveLength(7)
  })
})

describe('a worker', () => {
  it('WORKER-4: under the same id goes on with its leases', async () => {
    const before = await connect('w-1')
    await running(before)
    await before.session.close()
    await clock.advance(14_999)
    const after = await connect('w-1', { holds: [before.offered.leaseId] })
    expect(after.heldLeases).toEqual([
      {
        leaseId: before.offered.leaseId,
        at: START + 14_999,
        renewBy: START + 360_000,
        deadline: START + 600_000,
      },
    ])
    await clock.advance(60_000)
    await after.session.complete(before.offered.leaseId, { digest: DIGEST })
  })

  it('WORKER-4: that is gone for 15 s loses them, and nobody is charged', async () => {
    const worker = await connect('w-1')
    const jobId = await running(worker)
    await worker.session.close()
    await clock.advance(14_999)
    expect((await engine.getJob(jobId)).status).toBe('RUNNING')
    await clock.advance(1)
    const { notBefore, ...row } = await engine.getJob(jobId)
    expect(row).toMatchObject({ status: 'QUEUED', retries: 0, workerLosses: 1 })
    expect((await story(jobId)).slice(-2)).toEqual([
      'leaseCancelled worker_lost',
      'jobRequeued WORKER_LOST',
    ])
    await engine.checkpoint()
    expect((await store.tables.load()).providers).toMatchObject([{ health: 1_000, workers: [] }])
    const next = await connect('w-2')
    await clock.advance((notBefore as number) - clock.now())
    expect(next.offered).toMatchObject({ jobId, attempt: 1 })
  })

  it('WORKER-5: that disowns a lease when it connects gives it back at once', async () => {
    const before = await connect('w-1')
    const jobId = await running(before)
    const after = await connect('w-1', { holds: [] })
    await clock.settle()
    expect(await story(jobId)).toContain('leaseCancelled disowned')
    const { notBefore } = await engine.getJob(jobId)
    await clock.advance((notBefore as number) - clock.now())
    expect(after.offered).toMatchObject({ jobId, attempt: 1 })
    expect((await engine.getJob(jobId)).retries).toBe(0)
  })

  it('WORKER-11: that drains takes nothing back that it has given', async () => {
    const draining = await connect('w-1', { slots: 2 })
    const jobId = await enqueue()
    await draining.session.setSlots(0)
    await draining.session.release(draining.offered.leaseId)
    await clock.settle()
    expect([draining.offers.length, (await engine.getJob(jobId)).status]).toEqual([1, 'QUEUED'])
    const other = await connect('w-2')
    await clock.settle()
    expect(other.offered).toMatchObject({ jobId, attempt: 1 })
    expect((await engine.getJob(jobId)).retries).toBe(0)
  })

  it('WORKER-10: has one session; another under its id takes its place', async () => {
    const before = await connect('w-1')
    await running(before)
    const { leaseId } = before.offered
    const after = await connect('w-1', { holds: [leaseId] })
    expect(before.closedBy).toMatchObject({ code: 'InvalidState' })
    expect(await codeOf(before.session.renew(leaseId))).toBe('StoreUnavailable')
    await before.session.close()
    await clock.advance(20_000)
    expect(await codeOf(after.session.renew(leaseId))).toBe('ok')
  })
})

describe('a provider that no worker serves', () => {
  it('HEALTH-4: is SUSPENDED after 23 minutes in the preset fund, until an operator brings it back', async () => {
    await engine.setPolicy({ registry: { min_stake: { ai: 0 } } }, 'fund')
    const statusOf = async () => {
      await engine.checkpoint()
      return (await store.tables.load()).providers[0]?.status
    }
    await clock.advance(1_379_999)
    expect(await statusOf()).toBe('ACTIVE')
    await clock.advance(1)
    expect(await statusOf()).toBe('SUSPENDED')
    const worker = await connect('w-1')
    await engine.heartbeat(ATLAS)
    await enqueue()
    expect(worker.offers).toEqual([])
    await engine.setProviderStatus(ATLAS, 'ACTIVE')
    await clock.settle()
    expect(worker.offers).toHaveLength(1)
  })
})

describe('a restart', () => {
  it('WORKER-7: cuts every connection; a worker has its time from then on to come back', async () => {
    const before = await connect('w-1')
    const jobId = await running(before)
    await restart(3_600_000)
    await clock.advance(14_999)
    expect((await engine.getJob(jobId)).status).toBe('RUNNING')
    const after = await connect('w-1', { holds: [before.offered.leaseId] })
    await after.session.complete(before.offered.leaseId, { digest: DIGEST })
    expect((await story(jobId)).at(-1)).toBe('jobCompleted')
  })

  it('WORKER-7: what nobody comes back for is given back, and the engine goes on by itself', async () => {
    const jobId = await running(await connect('w-1'))
    await restart(3_600_000)
    const other = await connect('w-2')
    await clock.advance(14_999)
    expect(other.offers).toEqual([])
    await clock.advance(1)
    expect(await story(jobId)).toContain('leaseCancelled worker_lost')
    const { notBefore } = await engine.getJob(jobId)
    await clock.advance((notBefore as number) - clock.now())
    expect(other.offered).toMatchObject({ jobId, attempt: 1 })
    expect((await engine.getJob(jobId)).retries).toBe(0)
  })

  it('WORKER-7: the time that a worker was gone before it does not run while the engine is down', async () => {
    const worker = await connect('w-1')
    const jobId = await running(worker)
    await worker.session.close()
    await clock.advance(10_000)
    await restart(60_000)
    await clock.advance(4_999)
    expect((await engine.getJob(jobId)).status).toBe('RUNNING')
    await clock.advance(1)
    expect((await engine.getJob(jobId)).status).toBe('QUEUED')
  })

  it('WORKER-7: an unacked lease goes to the first worker that connects', async () => {
    await connect('w-1')
    const jobId = await enqueue()
    await restart(60_000)
    const other = await connect('w-2')
    await clock.settle()
    expect(other.offered).toMatchObject({ jobId, attempt: 0 })
    expect(await story(jobId)).toContain('leaseMoved')
  })
})

describe('a failed append', () => {
  it('WORKER-7: cuts no connection', async () => {
    const worker = await connect('w-1', { slots: 3 })
    await running(worker)
    store.isFull = true
    expect(await codeOf(enqueue())).toBe('StoreUnavailable')
    await clock.advance(20_000)
    store.isFull = false
    const jobId = await enqueue()
    expect(worker.offers.map((offer) => offer.jobId)).toContain(jobId)
    const held = worker.heldLeases.map(({ leaseId }) => leaseId)
    expect(held).toContain(worker.offers[0]?.leaseId)
    const rows = (await engine.listJobs()).jobs
    expect(rows.map(({ retries, workerLosses }) => retries + workerLosses)).toEqual([0, 0, 0])
  })

  it('WORKER-7: in which a worker left does not keep it: it has left all the same', async () => {
    const worker = await connect('w-1')
    const jobId = await running(worker)
    failing('fails')
    expect(await codeOf(worker.session.close())).toBe('StoreUnavailable')
    // The quarter of a second without a log does not count.
    await clock.advance(15_249)
    expect((await engine.getJob(jobId)).status).toBe('RUNNING')
    await clock.advance(1)
    expect((await engine.getJob(jobId)).status).toBe('QUEUED')
  })

  it('WORKER-7: in which a worker connected does not make it one that is there', async () => {
    failing('answer lost')
    expect(await codeOf(connect('w-1'))).toBe('StoreUnavailable')
    const jobId = await enqueue()
    expect((await engine.getJob(jobId)).status).toBe('QUEUED')
    await engine.checkpoint()
    expect((await store.tables.load()).providers).toMatchObject([{ workers: [] }])
  })
})

it('WORKER-7: an engine that closes says so to its workers', async () => {
  const worker = await connect('w-1')
  await engine.close()
  expect(worker.closedBy).toMatchObject({ code: 'StoreUnavailable', retryable: true })
  expect(await codeOf(worker.session.ack(DIGEST as LeaseId))).toBe('StoreUnavailable')
  engine = await openEngine({ store, clock })
})
