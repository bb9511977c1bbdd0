import { type Clock, callerOf, type JobId } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HeldStore } from './held-store.ts'
import type { ManualWorker } from './manual-worker.ts'
import { Call, Rig, START } from './rig.ts'

let rig: Rig
let worker: ManualWorker

beforeEach(async () => {
  rig = await Rig.open()
  worker = await rig.connect()
})
afterEach(() => rig.close())

/** The appends and the loads in this time. */
async function callsIn(ms: number): Promise<{ readonly loads: number; readonly appends: number }> {
  const { loads, appends } = rig.store
  await rig.clock.advance(ms)
  return { loads: rig.store.loads - loads, appends: rig.store.appends - appends }
}

describe('a log that takes nothing', () => {
  it('LOOP-1: is given the record four times a second, and the engine goes on by itself when it is back', async () => {
    const offer = await rig.offered('a', worker)
    rig.store.isFull = true
    expect(await rig.enqueue('b').done).toBe('StoreUnavailable')
    expect(await callsIn(10_000)).toEqual({ loads: 0, appends: 40 })
    for (let i = 0; i < 10; i++) expect(await callsIn(0)).toEqual({ loads: 0, appends: 0 })

    rig.store.isFull = false
    await rig.clock.advance(250)
    // A sign of life every second.
    const { loads, appends } = await callsIn(3_000)
    expect([loads, appends]).toEqual([0, 3])
    // Its ack is due in 5 s of engine time. The outage does not count.
    expect((await rig.engine.getJob(offer.jobId)).retries).toBe(0)
    await rig.clock.advance(2_000)
    expect((await rig.engine.getJob(offer.jobId)).retries).toBe(1)
    expect(await rig.enqueue('b').done).toBe('ok')
    expect(await rig.jobs()).toHaveLength(2)
  })

  it('LOOP-1: notices by itself, from the first sign of life on', async () => {
    rig.store.isFull = true
    expect(await callsIn(999)).toEqual({ loads: 0, appends: 0 })
    expect(await callsIn(1)).toEqual({ loads: 0, appends: 1 })
    expect(await callsIn(1_000)).toEqual({ loads: 0, appends: 4 })
  })

  it('LOOP-1: is tried again by each call, once a call, and nobody waits for it', async () => {
    rig.store.isFull = true
    expect(await rig.enqueue('a').done).toBe('StoreUnavailable')
    const { appends } = rig.store
    for (let i = 0; i < 5; i++) expect(await rig.enqueue(`b-${i}`).done).toBe('StoreUnavailable')
    expect(rig.store.appends - appends).toBe(5)
    rig.store.isFull = false
    expect(await rig.enqueue('c').done).toBe('ok')
    // The first call was applied, and the five after it were not.
    expect(await rig.jobs()).toHaveLength(2)
  })

  it('LOOP-1: keeps the connections, and their workers hear again what they hold', async () => {
    const { leaseId } = await rig.offered('a', worker)
    rig.store.isFull = true
    expect(await rig.enqueue('b').done).toBe('StoreUnavailable')
    await rig.clock.advance(20_000)
    expect(worker.closedBy).toBeNull()
    rig.store.isFull = false
    await rig.clock.advance(250)
    expect(worker.heldLeases).toHaveLength(2)
    expect(await new Call(worker.session.ack(leaseId)).done).toBe('ok')
  })

  it('LOOP-1, ENGINE-4: an outage moves deadlines on the same state, and is charged to nobody', async () => {
    const offer = await rig.offered('a', worker)
    expect(await rig.ack(offer).done).toBe('ok')
    const { loads } = rig.store
    rig.store.isFull = true
    expect(await rig.enqueue('b').done).toBe('StoreUnavailable')
    await rig.clock.advance(3_600_000)
    rig.store.isFull = false
    await rig.clock.advance(250)
    expect(await rig.engine.getJob(offer.jobId)).toMatchObject({ status: 'RUNNING', retries: 0 })
    const held = worker.heldLeases.find(({ leaseId }) => leaseId === offer.leaseId)
    expect(held?.deadline).toBe(START + 600_000 + 3_600_250)
    expect(rig.store.loads).toBe(loads)
  })

  it('LOOP-1: after an outage the waiting jobs are dispatched without a call', async () => {
    await worker.session.close()
    expect(await rig.enqueue('a').done).toBe('ok')
    rig.store.isHolding = true
    const connecting = new Call(rig.connect('w-2'))
    const append = await rig.store.underWay()
    // The worker is there and so is its offer, but nobody knows.
    await append.store()
    rig.store.isFull = true
    rig.store.isHolding = false
    append.fail()
    expect(await connecting.done).toBe('StoreUnavailable')
    await rig.clock.advance(3_000)
    rig.store.isFull = false
    await rig.clock.advance(250)
    const next = await rig.connect('w-3')
    await rig.clock.settle()
    expect(next.offers).toHaveLength(1)
  })

  it('LOOP-1: nothing is explained whose outcome is unknown', async () => {
    await worker.session.close()
    const enqueued = rig.enqueue('a')
    expect(await enqueued.done).toBe('ok')
    const explain = () => new Call(rig.engine.explain(enqueued.value as JobId))
    rig.store.isFull = true
    expect(await new Call(rig.connect('w-2')).done).toBe('StoreUnavailable')
    expect(await explain().done).toBe('StoreUnavailable')
    rig.store.isFull = false
    expect(await explain().done).toBe('ok')
  })

  it('LOOP-1: reads answer what was answered before, for as long as the outage lasts', async () => {
    const before = rig.enqueue('a')
    expect(await before.done).toBe('ok')
    rig.store.isFull = true
    expect(await rig.enqueue('b').done).toBe('StoreUnavailable')
    expect(await rig.jobs()).toEqual([before.value])
    await rig.clock.advance(1_000)
    expect(await rig.jobs()).toEqual([before.value])
  })
})

describe('an append that fails under a clock that has gone back', () => {
  it('ENGINE-6: is got over however far that was, and time stands still meanwhile', async () => {
    const store = new HeldStore()
    let nowMs = START
    const clock: Clock = { now: () => nowMs, wakeAt: () => () => {} }
    const engine = await openEngine({ store, clock })
    const enqueue = () => {
      const request = { kind: 'task', payload: { name: 'resize', args: {} } }
      return new Call(engine.enqueue(request, { caller: callerOf('acme') }))
    }
    expect(await enqueue().done).toBe('ok')
    nowMs = START - 3_600_000
    store.isFull = true
    expect(await enqueue().done).toBe('StoreUnavailable')
    store.isFull = false
    expect(await enqueue().done).toBe('ok')
    const { jobs } = await engine.listJobs()
    expect(jobs.map(({ enqueueTs }) => enqueueTs)).toEqual([START, START, START])
    await engine.close()
  })
})
