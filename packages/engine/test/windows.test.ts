import type { JobId } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualWorker } from './manual-worker.ts'
import { ATLAS, Call, outcomesOf, Rig } from './rig.ts'

const NONE = {}
const SHORT = withWindow({ jobs: 2, secs: 1 })
const LONG = withWindow({ jobs: 2, secs: 10 })

let disk: MemoryStore
let rig: Rig
let worker: ManualWorker

beforeEach(async () => {
  disk = new MemoryStore()
  rig = await Rig.open(disk)
  worker = await rig.connect()
})
afterEach(() => rig.close())

function withWindow(requester_window: { readonly jobs: number; readonly secs: number }) {
  return { queue: { quotas: { requester_window } } }
}

/** Enqueues one more job and says whether it was assigned. */
async function isAssigned(key: string): Promise<boolean> {
  const call = rig.enqueue(key)
  expect(await call.done).toBe('ok')
  await rig.clock.settle()
  return (await rig.engine.getJob(call.value as JobId)).status === 'ASSIGNED'
}

describe('a policy that sets or lengthens the window of requesters', () => {
  it.each([
    ['none', NONE],
    ['a shorter one', SHORT],
  ])('QUOTA-4: counts what was assigned before it, where there was %s', async (_, before) => {
    await rig.engine.setPolicy(before)
    for (const key of ['a', 'b']) {
      expect(await isAssigned(key)).toBe(true)
      await worker.session.ack(worker.offered.leaseId)
      await rig.clock.advance(3_000)
    }
    await rig.engine.setPolicy(LONG)
    expect(await isAssigned('c')).toBe(false)
    await rig.clock.advance(3_999)
    expect(rig.engine.stats().waiting.task).toBe(1)
    // The first is ten seconds old, the second is not.
    await rig.clock.advance(1)
    expect(rig.engine.stats().waiting.task).toBe(0)
    expect(await isAssigned('d')).toBe(false)
  })

  it('KEYS-4: is refused if the tables do not answer within a second, and everything else goes on', async () => {
    const held = rig.store.holdAnswer('assignmentsSince')
    const change = new Call(rig.engine.setPolicy(LONG))
    await held.asked
    const other = rig.enqueue('a')
    await rig.clock.advance(999)
    expect([change.outcome, other.outcome]).toEqual(['pending', 'pending'])
    await rig.clock.advance(1)
    expect(await change.done).toBe('StoreUnavailable')
    expect(await other.done).toBe('ok')
    held.release()
    await rig.engine.setPolicy(LONG)
    expect(await isAssigned('b')).toBe(true)
    expect(await isAssigned('c')).toBe(false)
  })

  it('KEYS-4: does not wait for an open batch that nobody hands over', async () => {
    rig.store.isHolding = true
    // So many changes are not taken at once.
    const calls: Call<unknown>[] = Array.from({ length: 40 }, (_, i) => rig.enqueue(`k-${i}`))
    const write = await rig.store.underWay()
    calls.push(rig.enqueue('in the open batch'))
    await rig.clock.settle()
    calls.push(new Call(rig.engine.setPolicy(LONG)))
    await rig.clock.settle()
    await write.confirm()
    await rig.store.letGo()
    await rig.clock.advance(1_000)
    expect(await outcomesOf(calls)).toEqual(calls.map(() => 'ok'))
  })

  it('QUOTA-4: counts what is being written when it is set', async () => {
    rig.store.isHolding = true
    const calls: Call<unknown>[] = [rig.enqueue('a'), rig.enqueue('b')]
    const write = await rig.store.underWay()
    expect(await rig.leasesAfter(write)).toHaveLength(2)
    calls.push(new Call(rig.engine.setPolicy(LONG)))
    await rig.clock.settle()
    rig.store.isHolding = false
    await write.confirm()
    for (const { done } of calls) expect(await done).toBe('ok')
    expect(await isAssigned('c')).toBe(false)
  })

  it('QUOTA-4: is not set on an unknown outcome, and counts what happened after all', async () => {
    rig.store.isHolding = true
    const calls = [rig.enqueue('a'), rig.enqueue('b')]
    const write = await rig.store.underWay()
    const setting = new Call(rig.engine.setPolicy(LONG))
    await rig.clock.settle()
    rig.store.isHolding = false
    write.fail()
    for (const { done } of calls) expect(await done).toBe('StoreUnavailable')
    expect(await setting.done).toBe('StoreUnavailable')
    await rig.engine.setPolicy(LONG)
    expect(await rig.jobs()).toHaveLength(2)
    expect(await isAssigned('c')).toBe(false)
  })

  it('QUOTA-4: of two in one batch, the second counts what the first had no use for', async () => {
    await rig.engine.setPolicy(LONG)
    expect(await isAssigned('a')).toBe(true)
    expect(await isAssigned('b')).toBe(true)
    const calls = [NONE, LONG].map((policy) => new Call(rig.engine.setPolicy(policy)))
    for (const { done } of calls) expect(await done).toBe('ok')
    expect(await isAssigned('c')).toBe(false)
  })

  it('ENGINE-4: decides the same after a restart', async () => {
    for (const key of ['a', 'b']) {
      expect(await isAssigned(key)).toBe(true)
      await worker.session.ack(worker.offered.leaseId)
    }
    await rig.engine.setPolicy(LONG)
    expect(await isAssigned('c')).toBe(false)
    const next = await restart()
    expect(await next.offersAfter(9_999)).toBe(0)
    expect(await next.offersAfter(1)).toBe(1)
    await next.engine.close()
  })
})

describe('a window that is longer than ended jobs are kept', () => {
  it('QUOTA-4, ENGINE-4: keeps them until it is done with them, so that a restart changes nothing', async () => {
    const { queue } = withWindow({ jobs: 1, secs: 100 })
    await rig.engine.setPolicy({ queue: { ...queue, ttl: { gc_horizon_secs: 1 } } })
    expect(await isAssigned('a')).toBe(true)
    const { jobId } = worker.offered
    expect(await rig.complete(worker.offered).done).toBe('ok')
    // Long enough for the deletion of what has ended, which comes once a minute.
    await rig.clock.advance(70_000)
    expect(await isAssigned('b')).toBe(false)
    const next = await restart()
    expect(await next.offersAfter(29_999)).toBe(0)
    expect(await next.offersAfter(1)).toBe(1)
    await rig.clock.advance(60_000)
    await expect(next.engine.getJob(jobId)).rejects.toMatchObject({ code: 'NotFound' })
    await next.engine.close()
  })
})

/** The next engine, with a worker; how much work this got once so much time has passed. */
async function restart() {
  await rig.engine.close()
  const { clock } = rig
  const engine = await openEngine({ store: disk, clock })
  const { offers } = await ManualWorker.connect(engine, ATLAS, { id: 'w-2' })
  const offersAfter = async (ms: number) => {
    await clock.advance(ms)
    return offers.length
  }
  return { engine, offersAfter }
}
