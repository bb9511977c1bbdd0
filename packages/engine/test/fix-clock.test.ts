import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brokenSeq, type LeaseOffer, type ProviderId } from '@fairlead/core'
import { fixClock, openEngine } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { TestClock } from '@fairlead/testkit'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualWorker } from './manual-worker.ts'
import { ACME, DIGEST, START } from './rig.ts'

const AHEAD = 365 * 86_400_000
const ATLAS = 'provider:atlas' as ProviderId
const TASK = { kind: 'task', payload: { name: 'resize', args: {} } }

function tempPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-clock-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'state.db')
}

async function opened(path: string, nowMs: number) {
  const clock = new TestClock(nowMs)
  // One that is not opened yet is closed if the engine cannot be opened. Without threads it has no time of its own.
  const store = openSqliteStore(path, {}, { isInline: true })
  const engine = await openEngine({ store, clock })
  return { clock, engine }
}

/** A store with a job from before the clock was wrong, and one that runs, one in backoff and one that waits since. */
async function storeFromTheFuture(path: string): Promise<void> {
  const before = await opened(path, START - 10_000)
  await before.engine.enqueue({ ...TASK, idempotency_key: 'early' }, { caller: ACME })
  await before.engine.close()
  const { engine, clock } = await opened(path, START + AHEAD)
  const offer = { capabilities: new Set(['task'] as const), models: new Set(['*']) }
  await engine.registerProvider(ATLAS, offer)
  await engine.limiter.define({ key: 'k', kind: 'rolling', capacity: 1, windowSecs: 60 })
  const held = { leaseId: 'l-1', requirements: [{ key: 'k', amount: 1 }] }
  expect(await engine.limiter.reserve(held)).toMatchObject({ allowed: true })
  const worker = await ManualWorker.connect(engine, ATLAS, { id: 'w-1', slots: 1 })
  await engine.enqueue({ ...TASK, idempotency_key: 'failed' }, { caller: ACME })
  await clock.settle()
  const { leaseId } = worker.offers[0] as LeaseOffer
  await engine.fail({ leaseId, by: ATLAS, workerId: 'w-1' as never, code: 'x', permanent: false })
  await engine.enqueue({ ...TASK, idempotency_key: 'late' }, { caller: ACME })
  await clock.settle()
  await engine.close()
}

describe('a store that was written by a clock far ahead', () => {
  it('CLOCK-1: is moved back, and its jobs run', async () => {
    const path = tempPath()
    await storeFromTheFuture(path)
    await expect(opened(path, START)).rejects.toMatchObject({
      code: 'StoreUnavailable',
      message: expect.stringContaining('doctor --fix-clock') as string,
    })
    const store = await openSqliteStore(path)
    const { jobs, leases, providers } = await store.tables.load()
    const beat = START + AHEAD
    expect(await fixClock(store, START)).toEqual({ before: beat, after: START })
    const moved = await store.tables.load()
    const back = (at: number | null) => (at === null || at <= START ? at : at - AHEAD)
    expect(moved.jobs).toEqual(
      jobs.map((row) => ({
        ...{ ...row, denials: [], enqueueTs: back(row.enqueueTs) },
        ...{ notBefore: back(row.notBefore), firstAssignedAt: back(row.firstAssignedAt) },
      })),
    )
    expect(moved.jobs.map(({ enqueueTs }) => enqueueTs)).toEqual([START - 10_000, START, START])
    expect(moved.leases).toEqual(
      leases.map((row) => ({
        ...row,
        tStart: back(row.tStart),
        tDeadline: back(row.tDeadline),
      })),
    )
    expect(moved.providers[0]?.lastHeartbeat).toBe(back(providers[0]?.lastHeartbeat ?? null))
    // A second time there is nothing to do.
    expect(await fixClock(store, START)).toBeNull()
    await store.close()

    const { engine, clock } = await opened(path, START)
    const again = { leaseId: 'l-2', requirements: [{ key: 'k', amount: 1 }] }
    expect(await engine.limiter.reserve(again)).toMatchObject({ allowed: false })
    const worker = await ManualWorker.connect(engine, ATLAS, { id: 'w-2', slots: 9 })
    const isDone = async () => (await engine.listJobs({ status: 'COMPLETED' })).jobs.length === 3
    const done = new Set<string>()
    // The store is read between the steps, so that work which is read from it has come.
    for (let secs = 0; secs < 60 && !(await isDone()); secs++) {
      await clock.advance(1_000)
      for (const { leaseId } of worker.offers) {
        if (done.has(leaseId)) continue
        done.add(leaseId)
        await engine.complete({ leaseId, by: ATLAS, workerId: worker.id, digest: DIGEST })
      }
    }
    expect(await isDone()).toBe(true)
    await clock.advance(START + 61_000 - clock.now())
    const later = { ...again, leaseId: 'l-3' }
    expect(await engine.limiter.reserve(later)).toMatchObject({ allowed: true })
    await engine.close()
  })

  it('CLOCK-1: has an entry with both times in its audit log, which still holds', async () => {
    const path = tempPath()
    await storeFromTheFuture(path)
    const store = await openSqliteStore(path)
    const { lastEntry } = await store.tables.load()
    await fixClock(store, START)
    const entries = await store.read.journal(0, 100)
    expect(entries.at(-1)).toMatchObject({
      ...{ seq: lastEntry + 1, at: START, actor: 'doctor', action: 'clockFixed' },
      details: { before: START + AHEAD, after: START },
    })
    expect(brokenSeq(entries)).toBeNull()
    await store.close()
  })

  it('CLOCK-1: up to a minute ahead, and earlier, nothing is changed', async () => {
    const path = tempPath()
    const { engine } = await opened(path, START)
    await engine.close()
    const store = await openSqliteStore(path)
    expect(await fixClock(store, START - 60_000)).toBeNull()
    expect(await fixClock(store, START - 60_001)).not.toBeNull()
    await store.close()
  })
})
