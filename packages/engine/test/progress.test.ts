import type { JobId, LeaseId } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MemoryJobLogs } from '../dist/progress/memory-job-logs.js'
import { ManualWorker } from './manual-worker.ts'
import { ACME, ATLAS, DIGEST, Rig } from './rig.ts'

let rig: Rig
let worker: ManualWorker
let id: JobId
let leaseId: LeaseId
beforeEach(async () => {
  rig = await Rig.open(new MemoryStore())
  worker = await ManualWorker.connect(rig.engine, ATLAS, { slots: 10 })
  const payload = { name: 'resize', args: {} }
  id = await rig.engine.enqueue({ kind: 'task', payload }, { caller: ACME })
  await rig.clock.settle()
  leaseId = worker.offered.leaseId
})
afterEach(() => rig.engine.close())

const report = (said: object) => rig.engine.progress.report({ leaseId, by: ATLAS, ...said })
const texts = () => rig.engine.progress.logs(id).flatMap(({ lines }) => lines.map((l) => l.text))

describe('progress', () => {
  it('PROGRESS-1: acks the lease, and is kept as it was said last', async () => {
    await report({ percent: 10, message: 'page 1' })
    expect((await rig.engine.getJob(id)).status).toBe('RUNNING')
    await report({ percent: 20 })
    expect(rig.engine.progress.of(id)).toEqual({
      attempt: 0,
      percent: 20,
      message: 'page 1',
      at: rig.clock.now(),
    })
    await rig.engine.complete({ leaseId, by: ATLAS, digest: DIGEST })
    expect(rig.engine.progress.of(id)).toBeNull()
  })

  it('PROGRESS-1: the next attempt begins anew', async () => {
    await report({ percent: 90, message: 'nearly' })
    await rig.engine.fail({ leaseId, by: ATLAS, code: 'oom', permanent: false })
    const { notBefore } = await rig.engine.getJob(id)
    await rig.clock.advance((notBefore ?? 0) - rig.clock.now())
    leaseId = worker.offered.leaseId
    await report({ percent: 5 })
    expect(rig.engine.progress.of(id)).toMatchObject({ attempt: 1, percent: 5, message: null })
  })

  it('PROGRESS-3: each attempt keeps its own, also once it has ended', async () => {
    await report({ percent: 80, message: 'nearly' })
    await report({ percent: 90 })
    await rig.engine.fail({ leaseId, by: ATLAS, code: 'oom', permanent: false })
    const { notBefore } = await rig.engine.getJob(id)
    await rig.clock.advance((notBefore ?? 0) - rig.clock.now())
    leaseId = worker.offered.leaseId
    await report({ message: 'again' })
    await rig.engine.complete({ leaseId, by: ATLAS, digest: DIGEST })
    const said = rig.engine.progress
      .logs(id)
      .map(({ attempt, progress, lines }) => [attempt, progress?.percent, progress?.message, lines])
    expect(said).toEqual([
      [0, 90, 'nearly', []],
      [1, null, 'again', []],
    ])
  })

  it('PROGRESS-3: what an attempt said last is saved before anybody hears of its end', async () => {
    const jobLogs = new MemoryJobLogs()
    await rig.engine.close()
    rig.engine = await openEngine({ store: rig.inner, clock: rig.clock, jobLogs })
    worker = await ManualWorker.connect(rig.engine, ATLAS, { slots: 10 })
    await rig.clock.settle()
    leaseId = worker.offered.leaseId
    await report({ percent: 100, log: ['the last line'] })
    expect(jobLogs.read(id)).toEqual([])
    await rig.engine.complete({ leaseId, by: ATLAS, digest: DIGEST })
    expect(jobLogs.read(id)).toMatchObject([
      { progress: { percent: 100 }, lines: [{ text: 'the last line' }] },
    ])
  })

  it('PROGRESS-1: outlives a restart, by replay and from the tables', async () => {
    await report({ percent: 40, message: 'page 4' })
    const before = rig.engine.progress.of(id)
    for (let restarts = 0; restarts < 2; restarts++) {
      await rig.restart(0)
      expect(rig.engine.progress.of(id)).toEqual(before)
    }
  })

  it('PROGRESS-1: the same again, or lines alone, are no new command', async () => {
    await report({ percent: 40 })
    const { appends } = rig.store
    await report({ percent: 40 })
    await report({ log: ['a line'] })
    expect(rig.store.appends).toBe(appends)
  })

  it('PROGRESS-1: of a lease that is over, or held by another, is refused', async () => {
    await expect(
      rig.engine.progress.report({ leaseId, by: 'provider:other' as never, percent: 1 }),
    ).rejects.toMatchObject({ code: 'Forbidden' })
    await rig.engine.cancel(id, 'operator')
    await expect(report({ percent: 1, log: ['late'] })).rejects.toMatchObject({
      code: 'LeaseNotLive',
    })
    expect(texts()).toEqual([])
  })

  it.each([
    [{ percent: 101 }, /percent/],
    [{ percent: 1.5 }, /percent/],
    [{ message: 'é'.repeat(513) }, /message: expected at most 1024 bytes/],
    [{ log: Array(101).fill('x') }, /log: expected a list of at most 100/],
    [{ log: [7] }, /log/],
  ])('PROGRESS-1: refuses %j', async (said, message) => {
    await expect(report(said)).rejects.toThrow(message)
  })

  it('PROGRESS-2: is told live, once a second, and never from the journal', async () => {
    const heard: number[] = []
    const stop = rig.engine.progress.onProgress(({ jobId, percent }) => {
      expect(jobId).toBe(id)
      heard.push(percent)
    })
    for (const percent of [1, 2, 3]) await report({ percent })
    await rig.clock.advance(1_000)
    await report({ percent: 4 })
    stop()
    await rig.clock.advance(1_000)
    await report({ percent: 5 })
    expect(heard).toEqual([1, 4])
    const actions = (await rig.engine.view.read.journal(0, 100)).map(({ action }) => action)
    expect(actions.filter((action) => action.includes('rogress'))).toEqual([])
  })
})

describe('log lines', () => {
  it('PROGRESS-3: are there at once, and after a restart', async () => {
    await report({ log: ['one', 'two'] })
    expect(texts()).toEqual(['one', 'two'])
    await rig.clock.advance(1_000)
    await report({ log: ['three'] })
    expect(texts()).toEqual(['one', 'two', 'three'])
  })

  it('PROGRESS-3: the newest 1,000 of an attempt stay, and no more than 64 KiB', async () => {
    const lines = (from: number) => Array.from({ length: 100 }, (_, i) => `line ${from + i}`)
    for (let from = 0; from < 1_200; from += 100) {
      await report({ log: lines(from) }).catch(() => undefined)
      if (from % 500 === 0) await rig.clock.advance(1_000)
    }
    const [log] = rig.engine.progress.logs(id)
    const kept = log?.lines.length ?? 0
    expect(kept).toBeLessThanOrEqual(1_000)
    expect((log?.dropped ?? 0) + kept).toBeGreaterThan(900)
    await rig.clock.advance(1_000)
    const long = 'x'.repeat(5_000)
    await rig.clock.settle()
    const second = rig.engine.progress
    await second.report({ leaseId, by: ATLAS, log: Array(30).fill(long) }).catch(() => undefined)
    const [tail] = rig.engine.progress.logs(id)
    const bytes = (tail?.lines ?? []).reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
    expect(bytes).toBeLessThanOrEqual(65_536)
  })
})
