import { type Clock, callerOf } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HeldStore } from './held-store.ts'
import type { ManualWorker } from './manual-worker.ts'
import { Call, Rig, START } from './rig.ts'

/** By itself the engine tries this often in ten seconds, at most. */
const TRIES = 41

let rig: Rig
let worker: ManualWorker

beforeEach(async () => {
  rig = await Rig.open()
  worker = await rig.connect()
})
afterEach(() => rig.close())

/** Calls of the store in this time. */
async function triesIn(ms: number): Promise<{ readonly loads: number; readonly commits: number }> {
  const { loads, tries } = rig.store
  await rig.clock.advance(ms)
  return { loads: rig.store.loads - loads, commits: rig.store.tries - tries }
}

describe('a store that is down', () => {
  it('ENGINE-2: is asked four times a second, and the engine goes on by itself when it is back', async () => {
    const offer = await rig.offered('a', worker)
    rig.store.isDown = true
    expect(await rig.enqueue('b').done).toBe('StoreUnavailable')
    const { loads, commits } = await triesIn(10_000)
    expect(loads).toBeGreaterThanOrEqual(TRIES - 2)
    expect(loads).toBeLessThanOrEqual(TRIES)
    // Without a state there is nothing to write.
    expect(commits).toBe(0)
    for (let i = 0; i < 10; i++) expect(await triesIn(0)).toEqual({ loads: 0, commits: 0 })

    rig.store.isDown = false
    await rig.clock.advance(250)
    expect((await triesIn(900)).loads).toBe(0)
    // Its ack is due in 5 s of engine time, the time that the store was down not counted.
    expect((await rig.engine.getJob(offer.jobId)).retries).toBe(0)
    await rig.clock.advance(5_000)
    expect((await rig.engine.getJob(offer.jobId)).retries).toBe(1)
    expect(await rig.enqueue('b').done).toBe('ok')
  })

  it('ENGINE-2: is asked again by whoever calls, once a call, and nobody waits for it', async () => {
    rig.store.isDown = true
    expect(await rig.enqueue('a').done).toBe('StoreUnavailable')
    await rig.clock.settle()
    const { loads } = rig.store
    for (let i = 0; i < 5; i++) expect(await rig.enqueue('a').done).toBe('StoreUnavailable')
    await rig.clock.settle()
    expect(rig.store.loads - loads).toBeLessThanOrEqual(5)
    rig.store.isDown = false
    expect(await rig.enqueue('a').done).toBe('ok')
  })

  it('ENGINE-2: answers none of what was told meanwhile, and keeps the connections', async () => {
    await rig.offered('a', worker)
    rig.store.isDown = true
    expect(await rig.enqueue('b').done).toBe('StoreUnavailable')
    await rig.clock.advance(20_000)
    expect(worker.closedBy).toBeNull()
    rig.store.isDown = false
    await rig.clock.advance(250)
    expect(worker.heldLeases).toHaveLength(1)
    const acked = new Call(worker.session.ack(worker.offered.leaseId))
    expect(await acked.done).toBe('ok')
  })
})

describe('a store that can be read and takes nothing', () => {
  it('ENGINE-2: is given something four times a second, and the engine goes on by itself', async () => {
    rig.store.isFull = true
    expect(await rig.enqueue('a').done).toBe('StoreUnavailable')
    const { loads, commits } = await triesIn(10_000)
    // From the first sign of life on, which is due after a second.
    for (const tries of [loads, commits]) {
      expect(tries).toBeGreaterThanOrEqual(TRIES - 5)
      expect(tries).toBeLessThanOrEqual(TRIES)
    }
    for (let i = 0; i < 10; i++) expect(await triesIn(0)).toEqual({ loads: 0, commits: 0 })

    rig.store.isFull = false
    await rig.clock.advance(250)
    const sound = await triesIn(10_000)
    expect(sound.loads).toBe(0)
    // A sign of life every second.
    expect(sound.commits).toBe(10)
    expect(await rig.enqueue('a').done).toBe('ok')
  })

  it('ENGINE-2: and what waits is dispatched then without a call', async () => {
    await worker.session.close()
    expect(await rig.enqueue('a').done).toBe('ok')
    rig.store.isHolding = true
    const connecting = new Call(rig.connect('w-2'))
    const write = await rig.store.underWay()
    // The worker is there and its offer too, but nobody knows.
    await write.store()
    rig.store.isFull = true
    rig.store.isHolding = false
    write.fail()
    expect(await connecting.done).toBe('StoreUnavailable')
    await rig.clock.advance(3_000)
    rig.store.isFull = false
    await rig.clock.advance(250)
    const next = await rig.connect('w-3')
    await rig.clock.settle()
    expect(next.offers).toHaveLength(1)
  })
})

describe('a write that fails under a clock that has gone back', () => {
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
    const call = enqueue()
    expect(await call.done).toBe('ok')
    const { jobs } = await engine.listJobs()
    expect(jobs.map(({ enqueueTs }) => enqueueTs)).toEqual([START, START])
    await engine.close()
  })
})
