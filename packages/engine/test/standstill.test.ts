import type { LeaseId } from '@fairlead/core'
import type { StandstillWatch } from '@fairlead/core/internal'
import { type Engine, openEngine } from '@fairlead/engine'
import { MemoryStore, TestClock } from '@fairlead/testkit'
import { expect, it, onTestFinished } from 'vitest'
import { HeldStore } from './held-store.ts'
import { ManualWorker } from './manual-worker.ts'
import { ACME, ATLAS, Call, DIGEST, OFFER, outcomesOf, START } from './rig.ts'

const TASK = { kind: 'task', payload: { name: 'resize', args: {} } }
/** Enough for a provider to lose all its health, if each were charged. */
const JOBS = 25

/** A clock that goes on while its process stands still. */
class RealTime extends TestClock {
  #ahead = 0
  #hasStoodStill = false

  override now(): number {
    return super.now() + this.#ahead
  }

  override wakeAt(atMs: number, wake: () => void): () => void {
    return super.wakeAt(atMs - this.#ahead, wake)
  }

  standStill(ms: number): void {
    this.#ahead += ms
    this.#hasStoodStill = true
  }

  watch(): StandstillWatch {
    return {
      hasHappened: () => {
        const answer = this.#hasStoodStill
        this.#hasStoodStill = false
        return answer
      },
      end() {},
    }
  }
}

async function offered(engine: Engine): Promise<ManualWorker> {
  await engine.registerProvider(ATLAS, OFFER)
  const worker = await ManualWorker.connect(engine, ATLAS, { slots: JOBS })
  await engine.enqueueMany(Array(JOBS).fill(TASK), { caller: ACME })
  while (worker.offers.length < JOBS) await new Promise((resolve) => setImmediate(resolve))
  return worker
}

it('ENGINE-6: a standstill is charged to nobody, and what was applied before it is written', async () => {
  const clock = new RealTime(START)
  const store = new HeldStore()
  const engine = await openEngine({ store, clock })
  const worker = await offered(engine)
  const { loads } = store
  store.isHolding = true
  const enqueue = () => new Call(engine.enqueue(TASK, { caller: ACME }))
  const calls = [enqueue()]
  const one = await store.underWay()
  calls.push(enqueue())
  await clock.settle()
  clock.standStill(60_000)
  calls.push(enqueue())
  await one.confirm()
  const two = await store.underWay()
  // What was applied before it, the gap, and then what was asked after it.
  const types = two.commands.map(({ type }) => type)
  expect(types.slice(0, 3)).toEqual(['enqueue', 'resume', 'enqueue'])
  expect(two.commands[1]).toMatchObject({ gapMs: 60_000 })
  store.isHolding = false
  await two.confirm()
  expect(await outcomesOf(calls)).toEqual(['ok', 'ok', 'ok'])
  expect(store.loads).toBe(loads)
  const deadlines = worker.heldLeases.map(({ deadline }) => deadline)
  expect(deadlines).toEqual(Array(JOBS).fill(START + 60_000 + 600_000))
  const completions = worker.offers
    .slice(0, JOBS)
    .map(({ leaseId }) => engine.complete({ leaseId, by: ATLAS, digest: DIGEST }))
  await Promise.all(completions)
  await engine.close()
})

it('ENGINE-6, LOOP-2: an engine that closes right after a standstill writes the gap, and all rows come', async () => {
  const clock = new RealTime(START)
  const store = new HeldStore()
  const engine = await openEngine({ store, clock })
  await offered(engine)
  const { batch } = store.log.end
  store.isHolding = true
  const calls = Array.from({ length: JOBS }, () => new Call(engine.enqueue(TASK, { caller: ACME })))
  const append = await store.underWay()
  clock.standStill(60_000)
  const closed = new Call(engine.close())
  await clock.settle()
  store.isHolding = false
  await append.confirm()
  expect(new Set(await outcomesOf([...calls, closed]))).toEqual(new Set(['ok']))
  expect(store.log.end.batch).toBe(batch + 2)
  expect((await store.tables.load()).batch).toBe(batch + 2)
})

it('ENGINE-6: a process that was busy with one thing for three seconds counts as restarted', async () => {
  const store = new MemoryStore()
  const engine = await openEngine({ store, policy: { queue: { ack_timeout_ms: 3_000 } } })
  onTestFinished(() => engine.close())
  const worker = await offered(engine)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_100)
  const completions = worker.offers.map(({ leaseId }) =>
    engine.complete({ leaseId, by: ATLAS, digest: DIGEST }),
  )
  await Promise.all(completions)
  expect(engine.view.providers()).toMatchObject([{ status: 'ACTIVE', health: 1_000 }])
})

it.each(['nothing', 'an enqueue'])(
  'ENGINE-6: a write that takes longer than an ack may is charged to nobody, with %s meanwhile',
  async (meanwhile) => {
    const clock = new TestClock(START)
    const store = new HeldStore()
    const engine = await openEngine({ store, clock })
    onTestFinished(() => engine.close())
    await engine.registerProvider(ATLAS, OFFER)
    const worker = await ManualWorker.connect(engine, ATLAS, { slots: 1 })
    store.isHolding = true
    const calls = [new Call(engine.enqueue(TASK, { caller: ACME }))]
    const write = await store.underWay()
    expect(write.commands.map(({ type }) => type)).toContain('round')
    await clock.advance(6_000)
    if (meanwhile === 'an enqueue') calls.push(new Call(engine.enqueue(TASK, { caller: ACME })))
    await clock.settle()
    store.isHolding = false
    await write.confirm()
    await clock.settle()
    expect(await outcomesOf(calls)).toEqual(calls.map(() => 'ok'))
    const [{ leaseId } = { leaseId: '' as LeaseId }] = worker.offers
    await clock.advance(4_999)
    await engine.ack({ leaseId, by: ATLAS })
    const { jobs } = await engine.listJobs()
    expect(jobs[0]).toMatchObject({ status: 'RUNNING', retries: 0 })
    expect(engine.view.providers()).toMatchObject([{ health: 1_000, failures: 0 }])
  },
)
