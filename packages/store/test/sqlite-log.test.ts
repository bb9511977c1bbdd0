import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { serialize } from 'node:v8'
import type { JobRow } from '@fairlead/core'
import type { WriteBatch } from '@fairlead/core/internal'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  batchOf,
  callerOf,
  jobIdOf,
  named,
  newJob,
  START,
  sampleEntry,
  sampleFailure,
  sampleJob,
  sampleLease,
  sampleProvider,
  sampleResult,
} from '../src/conformance/sample-rows.ts'
import { MemoryStore } from '../src/memory/memory-store.ts'
import { encodeBatch } from '../src/sqlite/batch-codec.ts'
import { openDatabase } from '../src/sqlite/driver.ts'
import { partsOf } from '../src/sqlite/known-keys.ts'
import { HEAD_BYTES } from '../src/sqlite/log-end.ts'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { imageOf, OpenFile, turns } from './open-file.ts'
import { tempPath } from './temp-store.ts'

/** How many rows these tables have by now. */
function countsIn(path: string): Readonly<Record<string, number>> {
  const db = openDatabase(imageOf(path))
  const count = (table: string) =>
    Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'])
  const tables = ['jobs', 'journal', 'results', 'kept_results', 'failures']
  const counts = Object.fromEntries(tables.map((table) => [table, count(table)]))
  db.close()
  return counts
}

const FIRST = batchOf({
  newJobs: [1, 2, 3].map((n) => newJob(sampleJob(n), Uint8Array.of(n))),
  newLeases: [1, 2].map((n) => sampleLease(n)),
  providers: [sampleProvider(1)],
  journal: [1, 2, 3].map((n) => sampleEntry(n, { jobSeq: n })),
  meta: { batch: '1', kept: 'yes' },
})

/** On top of the first: changes of what is there, what is new, and changes of that in turn. */
const LATER: readonly WriteBatch[] = [
  batchOf({
    newJobs: [newJob(sampleJob(4), Uint8Array.of(4))],
    jobs: [ended(1)],
    leases: [{ ...sampleLease(1), status: 'COMPLETED' }],
    results: [sampleResult(1)],
    failures: [sampleFailure(2), sampleFailure(4)],
    journal: [sampleEntry(4, { jobSeq: 1 }), sampleEntry(5, { jobSeq: 4 })],
    meta: { batch: '2' },
  }),
  batchOf({
    newLeases: [sampleLease(4), sampleLease(2, { attempt: 1 })],
    leases: [{ ...sampleLease(2), status: 'CANCELLED' }],
    jobs: [sampleJob(4, { status: 'ASSIGNED', attempt: 0 })],
    providers: [sampleProvider(1, { health: 900 })],
    failures: [sampleFailure(2, { attempt: 1 }), sampleFailure(4, { attempt: 10 })],
    journal: [sampleEntry(6, { jobSeq: 4 })],
    meta: { batch: '3' },
  }),
  batchOf({
    jobs: [sampleJob(4, { status: 'RUNNING', attempt: 0 })],
    leases: [{ ...sampleLease(4), isAcked: true }],
    failures: [sampleFailure(4, { attempt: 10, message: 'again' })],
    journal: [sampleEntry(7, { jobSeq: 4 })],
    meta: { batch: '4' },
  }),
]

function ended(n: number): WriteBatch['jobs'][number] {
  return sampleJob(n, { status: 'COMPLETED', attempt: 0, endedAt: START + n })
}

async function modelOf(batches: readonly WriteBatch[]): Promise<MemoryStore> {
  const model = new MemoryStore()
  for (const batch of batches) await model.commit(batch)
  return model
}

async function expectSame(path: string, model: MemoryStore): Promise<void> {
  const store = await openSqliteStore(path)
  expect(await store.load()).toEqual(await model.load())
  expect(await store.read.everything()).toEqual(await model.read.everything())
  for (const n of [1, 2, 3, 4]) {
    expect(await store.read.timeline(jobIdOf(n))).toEqual(await model.read.timeline(jobIdOf(n)))
  }
  await store.close()
}

afterEach(() => {
  vi.useRealTimers()
})

describe('rows in the log', () => {
  it('STORE-14: are all there after a kill, together with what was in the tables before', async () => {
    const path = tempPath()
    const before = await openSqliteStore(path)
    await before.commit(FIRST)
    await before.close()
    expect(countsIn(path)).toMatchObject({ jobs: 3 })

    expect(commitAndDie(path, LATER)).toBe('SIGKILL')
    expect(countsIn(path)).toMatchObject({ jobs: 3, journal: 1 })
    await expectSame(path, await modelOf([FIRST, ...LATER]))
    expect(countsIn(path)).toMatchObject({ jobs: 4 })
  })

  it('STORE-14: merge with what comes after the kill, and are guarded by the same rules', async () => {
    const path = tempPath()
    expect(commitAndDie(path, [FIRST, ...LATER])).toBe('SIGKILL')
    const after = new OpenFile(path)
    const isTaken = (given: Partial<WriteBatch>) => after.commit(batchOf(given))
    expect(isTaken({ newJobs: [newJob(sampleJob(4, { seq: 5 }))] })).toBe(false)
    const txHash = named<string>('tx', 4)
    expect(isTaken({ newJobs: [newJob(sampleJob(5, { txHash }))] })).toBe(false)
    expect(isTaken({ jobs: [sampleJob(1)] })).toBe(false)
    expect(isTaken({ newLeases: [sampleLease(4, { attempt: 1 })] })).toBe(false)
    expect(isTaken({ journal: [sampleEntry(7)] })).toBe(false)
    const last = batchOf({
      jobs: [ended(4)],
      leases: [{ ...sampleLease(4), isAcked: true, status: 'COMPLETED' }],
      journal: [sampleEntry(8, { jobSeq: 4 })],
      meta: { batch: '5' },
    })
    expect(after.commit(last)).toBe(true)
    const model = await modelOf([FIRST, ...LATER, last])
    await expectSame(imageOf(after.path), model)
    expect(after.read('everything')).toEqual(await model.read.everything())
  })

  it('STORE-14: are in their tables after a clean close', async () => {
    const path = tempPath()
    const store = await openSqliteStore(path)
    for (const batch of [FIRST, ...LATER]) await store.commit(batch)
    await store.close()
    expect(countsIn(path)).toMatchObject({ jobs: 4 })
    await expectSame(path, await modelOf([FIRST, ...LATER]))
  })

  it('STORE-14: are found by payload and key without being carried over, and by all else with', async () => {
    const opened = new OpenFile()
    for (const batch of [FIRST, ...LATER]) opened.commit(batch)
    expect(opened.read('payloads', [4, 5, 1])).toEqual([Uint8Array.of(4), null, Uint8Array.of(1)])
    const key = { caller: callerOf(1), txHash: named('tx', 4) }
    expect(opened.read('jobsByTx', [key])).toEqual([{ id: jobIdOf(4), payload: Uint8Array.of(4) }])
    expect(opened.read('job', jobIdOf(4))).toMatchObject({ status: 'RUNNING' })
    // For a reader they are in their tables, for the disk they still are in the log.
    expect(countsIn(opened.path)).toMatchObject({ jobs: 0 })
    await expectSame(imageOf(opened.path), await modelOf([FIRST, ...LATER]))
  })

  it('STORE-14: their keys are listed with those in the tables, page by page', () => {
    const opened = new OpenFile()
    const jobs = [1, 2, 3, 4, 5, 6].map((n) => sampleJob(n))
    const commit = (from: number, to: number) =>
      opened.commit(batchOf({ newJobs: jobs.slice(from, to).map((row) => newJob(row)) }))
    commit(0, 4)
    // Of the first four one goes into its table, so that some are on each side.
    opened.read('job', jobIdOf(3))
    commit(4, 6)
    const keys: number[] = []
    let pages = 0
    for (let after: number | null = 0; after !== null; pages++) {
      const { parts, last } = opened.file.jobKeys(after, 1)
      keys.push(...parts)
      after = last
    }
    const bytesOf = (text: string) => Buffer.from(text.slice(2), 'hex')
    const expected = jobs.map((row) => partsOf([[bytesOf(row.caller), bytesOf(row.txHash)]]))
    const inThrees = Array.from({ length: keys.length / 3 }, (_, i) => keys.slice(3 * i, 3 * i + 3))
    expect(inThrees.toSorted()).toEqual(expected.map((parts) => [...parts]).toSorted())
    expect(pages).toBe(2)
  })

  it('STORE-14: wait for ten seconds and no longer', () => {
    vi.useFakeTimers()
    const opened = new OpenFile()
    opened.commit(FIRST)
    vi.advanceTimersByTime(9_900)
    opened.commit(LATER[0] as WriteBatch)
    vi.advanceTimersByTime(99)
    expect(countsIn(opened.path)).toMatchObject({ jobs: 0, journal: 0 })
    vi.advanceTimersByTime(1)
    expect(countsIn(opened.path)).toMatchObject({ jobs: 4, journal: 1 })
    // The next ones have a time of their own.
    opened.commit(LATER[1] as WriteBatch)
    vi.advanceTimersByTime(9_999)
    expect(countsIn(opened.path)).toMatchObject({ journal: 1 })
    vi.advanceTimersByTime(1)
    expect(countsIn(opened.path)).toMatchObject({ journal: 2 })
  })

  it('STORE-14: where nothing presses they are carried a few in a transaction, and not while jobs come', () => {
    vi.useFakeTimers()
    const opened = new OpenFile(undefined, { jobsInCalm: 4, alongMs: 1e9 })
    const newJobs = Array.from({ length: 11 }, (_, n) => newJob(sampleJob(n + 1)))
    const entries = newJobs.map((_, n) => sampleEntry(n + 1, { jobSeq: n + 1 }))
    const commit = (n: number) =>
      opened.commit(batchOf({ newJobs: newJobs.slice(n, n + 1), journal: entries.slice(n, n + 1) }))
    for (let n = 0; n < 10; n++) commit(n)
    vi.advanceTimersByTime(9_960)
    commit(10)
    vi.advanceTimersByTime(40)
    expect(countsIn(opened.path).jobs).toBe(0)
    // A sign of life is no work.
    opened.commit(batchOf({}))
    vi.advanceTimersByTime(49)
    expect(countsIn(opened.path).jobs).toBe(0)
    vi.advanceTimersByTime(1)
    expect(countsIn(opened.path).jobs).toBe(4)
    vi.advanceTimersByTime(1)
    expect(countsIn(opened.path).jobs).toBe(8)
    // Fewer than make a transaction wait for others again.
    vi.advanceTimersByTime(9_999)
    expect(countsIn(opened.path).jobs).toBe(8)
    vi.advanceTimersByTime(1)
    expect(countsIn(opened.path).jobs).toBe(11)
  })

  it('STORE-14: under load each commit carries twice the jobs that it brings, of those that have waited', () => {
    vi.useFakeTimers()
    const pace = { waitMs: 1e9, alongMs: 1_000, jobsInCalm: 16 }
    const opened = new OpenFile(undefined, pace)
    let made = 0
    const commit = (count: number) => {
      const newJobs = Array.from({ length: count }, () => newJob(sampleJob(++made)))
      opened.commit(batchOf({ newJobs }))
      vi.advanceTimersByTime(1)
    }
    commit(20)
    vi.advanceTimersByTime(900)
    // Nothing has waited for long enough yet.
    for (let i = 0; i < 8; i++) commit(8)
    expect(countsIn(opened.path).jobs).toBe(0)
    vi.advanceTimersByTime(100)
    // With what the last one owed it is twice sixteen: as many jobs, and their names.
    commit(8)
    expect(countsIn(opened.path).jobs).toBe(16)
    // Sixteen jobs without their names; with these the transaction is whole.
    commit(9)
    expect(countsIn(opened.path).jobs).toBe(16)
    commit(8)
    expect(countsIn(opened.path).jobs).toBe(32)
  })

  it('STORE-14: what single jobs owe is carried together, when the last of them has been answered', () => {
    vi.useFakeTimers()
    const pace = { waitMs: 1e9, alongMs: 1_000, jobsInCalm: 4, sliceJobs: 2 }
    const opened = new OpenFile(undefined, pace)
    let made = 0
    const commit = () => opened.commit(batchOf({ newJobs: [newJob(sampleJob(++made))] }))
    for (let n = 0; n < 8; n++) commit()
    vi.advanceTimersByTime(4_000)
    // Twice the jobs of these two come to four jobs.
    commit()
    commit()
    vi.advanceTimersByTime(2)
    // As much again for their names.
    commit()
    vi.advanceTimersByTime(500)
    expect(countsIn(opened.path).jobs).toBe(0)
    commit()
    vi.advanceTimersByTime(1)
    expect(countsIn(opened.path).jobs).toBe(0)
    vi.advanceTimersByTime(1)
    expect(countsIn(opened.path).jobs).toBe(4)
  })

  it('STORE-14: single jobs carry the less for each other, the shorter the first of those that wait has waited', () => {
    const alongMs = 100_000
    const commitsUntilCarried = (waitedMs: number): number => {
      vi.useFakeTimers()
      const opened = new OpenFile(undefined, { waitMs: 1e9, alongMs, jobsInCalm: 16 })
      let made = 0
      const commit = () => opened.commit(batchOf({ newJobs: [newJob(sampleJob(++made))] }))
      for (let n = 0; n < 100; n++) commit()
      vi.advanceTimersByTime(waitedMs)
      while (countsIn(opened.path).jobs === 0) {
        commit()
        vi.advanceTimersByTime(2)
      }
      return made - 100
    }
    // A half, one and two for each and for the last before them, until it is forty.
    expect([1, 2, 4, 9].map((times) => commitsUntilCarried(times * alongMs))).toEqual([
      79, 40, 20, 20,
    ])
  })

  it('STORE-14: stay where they are when a batch that may delete finds nothing to', () => {
    const opened = new OpenFile()
    const over = (n: number) => newJob(sampleJob(n, { status: 'COMPLETED', endedAt: START + n }))
    opened.commit(batchOf({ newJobs: [over(5), newJob(sampleJob(6))] }))
    const eraseEnded = { from: 0, before: START + 5 }
    opened.commit(batchOf({ pruneEndedBefore: START + 5, eraseEnded }))
    expect(countsIn(opened.path).jobs).toBe(0)
    // One that waits is to be deleted, then one that the same batch brings, then one in the tables.
    opened.commit(batchOf({ pruneEndedBefore: START + 6 }))
    expect(countsIn(opened.path).jobs).toBe(1)
    opened.commit(batchOf({ newJobs: [over(7), over(9)], pruneEndedBefore: START + 8 }))
    expect(countsIn(opened.path).jobs).toBe(2)
    opened.commit(batchOf({ newJobs: [newJob(sampleJob(10))], pruneEndedBefore: START + 9 }))
    expect(countsIn(opened.path).jobs).toBe(2)
    opened.commit(batchOf({ pruneEndedBefore: START + 10 }))
    expect(countsIn(opened.path).jobs).toBe(2)
    expect(opened.read('jobs', { afterSeq: 0, limit: 9 })).toMatchObject([{ seq: 6 }, { seq: 10 }])
  })

  it('STORE-10: much that is old goes by and by, and holds up nobody', async () => {
    vi.useFakeTimers()
    const opened = new OpenFile(undefined, { waitMs: 1e9 })
    const over = (n: number) => newJob(sampleJob(n, { status: 'COMPLETED', endedAt: START + n }))
    const newJobs = Array.from({ length: 1_002 }, (_, n) => over(n + 1))
    opened.commit(batchOf({ newJobs }))
    opened.file.checkpoint()
    // One that is refused deletes nothing, now or later.
    const refused = batchOf({ jobs: [sampleJob(3_000)], pruneEndedBefore: START + 1_002 })
    expect(opened.commit(refused)).toBe(false)
    vi.advanceTimersByTime(1_000)
    expect(countsIn(opened.path).jobs).toBe(1_002)
    const waiting = batchOf({
      newJobs: [newJob(sampleJob(2_000))],
      pruneEndedBefore: START + 1_002,
    })
    opened.commit(waiting)
    expect(countsIn(opened.path).jobs).toBe(1_002)
    // Fifty, and the next one.
    vi.advanceTimersByTime(50)
    expect(countsIn(opened.path).jobs).toBe(951)
    // The batch itself is in the log like any other; what is read is in the tables as it is then.
    expect(
      new OpenFile(imageOf(opened.path)).read('jobs', { afterSeq: 1_001, limit: 9 }),
    ).toMatchObject([{ seq: 1_002 }, { seq: 2_000 }])
    vi.advanceTimersByTime(1_000)
    expect(opened.read('jobs', { afterSeq: 0, limit: 9 })).toMatchObject([
      { seq: 1_002 },
      { seq: 2_000 },
    ])
    // A name of what is gone is free.
    expect(opened.commit(batchOf({ newJobs: [newJob(sampleJob(1, { seq: 2_001 }))] }))).toBe(true)
  })

  it('STORE-10: the results of what goes by and by go or stay with it, as the last batch says', () => {
    vi.useFakeTimers()
    const opened = new OpenFile(undefined, { waitMs: 1e9 })
    const numbers = Array.from({ length: 1_100 }, (_, n) => n + 1)
    const newJobs = numbers.map((n) =>
      newJob(sampleJob(n, { status: 'FAILED', endedAt: START + n })),
    )
    const results = numbers.map((n) => sampleResult(n))
    const failures = numbers.map((n) => sampleFailure(n))
    opened.commit(batchOf({ newJobs, results, failures }))
    opened.file.checkpoint()
    const pruneEndedBefore = START + 1_101
    opened.commit(batchOf({ pruneEndedBefore, pruneResultsBefore: START + 500 }))
    expect(countsIn(opened.path)).toMatchObject({ jobs: 1_100, results: 1_100 })
    vi.advanceTimersByTime(50)
    const first = { jobs: 1_049, results: 1_049, kept_results: 0, failures: 1_049 }
    expect(countsIn(opened.path)).toMatchObject(first)
    // A lower time holds from here on; what it spares can be found.
    opened.commit(batchOf({ pruneEndedBefore, pruneResultsBefore: START + 61 }))
    vi.advanceTimersByTime(50)
    const second = { jobs: 998, results: 1_040, kept_results: 42, failures: 998 }
    expect(countsIn(opened.path)).toMatchObject(second)
    expect(opened.read('result', jobIdOf(60))).toBeNull()
    expect(opened.read('result', jobIdOf(61))).toMatchObject({ jobSeq: 61 })
    vi.advanceTimersByTime(5_000)
    const third = { jobs: 0, results: 1_040, kept_results: 1_040, failures: 0 }
    expect(countsIn(opened.path)).toMatchObject(third)
    // No job is left, but more results are due than go at once.
    opened.commit(batchOf({ pruneEndedBefore, pruneResultsBefore: START + 1_101 }))
    expect(countsIn(opened.path)).toMatchObject(third)
    vi.advanceTimersByTime(50)
    expect(countsIn(opened.path)).toMatchObject({ results: 989, kept_results: 989 })
    vi.advanceTimersByTime(5_000)
    expect(countsIn(opened.path)).toMatchObject({ results: 0, kept_results: 0 })
  })

  it('STORE-16: what waits and is to be erased is not put off with what goes by and by', () => {
    const opened = new OpenFile(undefined, { waitMs: 1e9 })
    const over = (n: number, kind: JobRow['kind']) =>
      newJob(sampleJob(n, { kind, status: 'COMPLETED', endedAt: START + n }), Uint8Array.of(0xff))
    opened.commit(
      batchOf({ newJobs: Array.from({ length: 1_002 }, (_, n) => over(n + 1, 'task')) }),
    )
    opened.file.checkpoint()
    opened.commit(batchOf({ newJobs: [over(2_000, 'registration')] }))
    const eraseEnded = { from: 0, before: START + 2_001 }
    opened.commit(batchOf({ pruneEndedBefore: START + 1_002, eraseEnded }))
    expect(opened.file.payloads([2_000]).bytes).toEqual(Uint8Array.of(0xa0))
  })

  it('STORE-8: are found by the first digits of an id, without the others being carried', async () => {
    const opened = new OpenFile(undefined, { waitMs: 1e9, jobsAtOnce: 10, sliceJobs: 4 })
    const jobs = Array.from({ length: 12 }, (_, n) => sampleJob(n + 1))
    const find = (n: number) =>
      opened.read('jobs', { idPrefix: jobIdOf(n).slice(0, 10), afterSeq: 0, limit: 9 })
    opened.commit(batchOf({ newJobs: jobs.slice(0, 9).map((row) => newJob(row)) }))
    expect(find(3)).toEqual([jobs[2]])
    expect(find(12)).toEqual([])
    opened.commit(batchOf({ jobs: [ended(3)], newJobs: jobs.slice(9).map((row) => newJob(row)) }))
    // In the midst of a carrying some jobs are in their table, and their names are not.
    for (let turn = 0; turn < 6; turn++) {
      expect(find(1 + turn)).toMatchObject([{ seq: 1 + turn }])
      expect(find(12 - turn)).toMatchObject([{ seq: 12 - turn }])
      await turns(1)
    }
    expect(find(3)).toEqual([ended(3)])
  })

  it('STORE-10: where much waits a single old job does not have all of it carried', () => {
    vi.useFakeTimers()
    const opened = new OpenFile(undefined, { waitMs: 1e9 })
    opened.commit(
      batchOf({ newJobs: [newJob(sampleJob(1, { status: 'COMPLETED', endedAt: START }))] }),
    )
    opened.file.checkpoint()
    const newJobs = Array.from({ length: 2_001 }, (_, n) => newJob(sampleJob(n + 2)))
    opened.commit(batchOf({ newJobs }))
    opened.commit(batchOf({ pruneEndedBefore: START + 1 }))
    expect(countsIn(opened.path).jobs).toBe(1)
    vi.advanceTimersByTime(50)
    expect(countsIn(opened.path).jobs).toBe(0)
    expect(opened.read('job', jobIdOf(1))).toBeNull()
  })

  it('STORE-14: where nobody comes they are carried a few in a transaction without pauses', () => {
    vi.useFakeTimers()
    const opened = new OpenFile(undefined, { jobsInCalm: 4 })
    const newJobs = Array.from({ length: 10 }, (_, n) => newJob(sampleJob(n + 1)))
    opened.commit(batchOf({ newJobs }))
    vi.advanceTimersByTime(10_000)
    expect(countsIn(opened.path).jobs).toBe(4)
    vi.advanceTimersByTime(10)
    expect(countsIn(opened.path).jobs).toBe(8)
  })

  it('STORE-14: when many jobs wait they are carried at once, some between any two calls', async () => {
    const opened = new OpenFile(undefined, { waitMs: 1e9, jobsAtOnce: 10, sliceJobs: 4 })
    const newJobs = Array.from({ length: 11 }, (_, n) => newJob(sampleJob(n + 1)))
    opened.commit(batchOf({ newJobs: newJobs.slice(0, 9) }))
    await turns(5)
    expect(countsIn(opened.path)).toMatchObject({ jobs: 0 })
    opened.commit(batchOf({ newJobs: newJobs.slice(9, 10) }))
    await turns(2)
    // It has begun, so that the eleventh is not among those that it began with.
    opened.commit(batchOf({ newJobs: newJobs.slice(10) }))
    expect(countsIn(opened.path)).toMatchObject({ jobs: 0 })
    // The last jobs, and as many of the names as there is room for; then the others.
    await turns(2)
    expect(countsIn(opened.path)).toMatchObject({ jobs: 10 })
    await expectSame(
      imageOf(opened.path),
      await modelOf([
        batchOf({ newJobs: newJobs.slice(0, 10) }),
        batchOf({ newJobs: newJobs.slice(10) }),
      ]),
    )
  })
})

it('STORE-14: a read that needs thousands of rows in their tables sees all of them, and commits go on meanwhile', async () => {
  const store = await openSqliteStore(tempPath(), { durability: 'relaxed' })
  onTestFinished(() => store.close())
  const jobs = Array.from({ length: 5_000 }, (_, n) => sampleJob(n + 1))
  await store.commit(batchOf({ newJobs: jobs.slice(0, -1).map((job) => newJob(job)) }))
  const order: string[] = []
  const none = store.read.jobs({ afterSeq: 0, limit: 10, status: 'FAILED' })
  const read = none.then((page) => order.push(`read ${page.length}`))
  const last = jobs.slice(-1).map((job) => newJob(job))
  const commit = store.commit(batchOf({ newJobs: last })).then(() => order.push('commit'))
  await Promise.all([read, commit])
  expect(order).toEqual(['commit', 'read 0'])
  expect(await store.read.jobs({ afterSeq: 4_990, limit: 100 })).toEqual(jobs.slice(4_990))
})

it('STORE-14: what came while others were carried is not carried twice', async () => {
  const opened = new OpenFile(undefined, { waitMs: 1e9, jobsAtOnce: 2, sliceJobs: 1 })
  const batches = [
    FIRST,
    batchOf({ journal: [sampleEntry(4, { jobSeq: 1 }), sampleEntry(5, { jobSeq: 2 })] }),
    batchOf({ journal: [sampleEntry(6, { jobSeq: 2 })] }),
  ] as const
  opened.commit(batches[0])
  await turns(4)
  opened.commit(batches[1])
  await turns(1)
  // Job 1 has been carried, job 2 is next: with what this batch says of it.
  opened.commit(batches[2])
  await turns(1)
  await expectSame(imageOf(opened.path), await modelOf(batches))
})

describe('the files of the log', () => {
  /** A killed process whose log ends with the batches of `LATER`. */
  function killed(): { path: string; log: string } {
    const path = tempPath()
    expect(commitAndDie(path, [FIRST, ...LATER])).toBe('SIGKILL')
    return { path, log: `${path}-log-a` }
  }

  it('STORE-13: a last batch that a power cut tore is not there, and all before it is', async () => {
    const { path, log } = killed()
    // Behind the last batch there are zeros, for the next ones.
    const size = readFileSync(log).findLastIndex((byte) => byte !== 0) + 1
    for (const cut of [1, 20, 300]) {
      const image = imageOf(path)
      truncateSync(`${image}-log-a`, size - cut)
      await expectSame(image, await modelOf([FIRST, ...LATER.slice(0, -1)]))
    }
    const bytes = readFileSync(log)
    bytes[size - 7] = 255 - (bytes[size - 7] as number)
    writeFileSync(log, bytes)
    await expectSame(path, await modelOf([FIRST, ...LATER.slice(0, -1)]))
  })

  it('STORE-13: a batch that was confirmed and is damaged is not passed over, and nothing is changed', async () => {
    const { path, log } = killed()
    const whole = readFileSync(log)
    const starts = startsOf([FIRST, ...LATER])
    // A bit of the head, one of the batch, or all of both, of each batch but the last.
    for (const [n, start] of starts.slice(0, -1).entries()) {
      for (const [at, length] of [
        [0, 1],
        [8, 1],
        [60, 1],
        [0, 200],
      ] as const) {
        const damaged = Buffer.from(whole)
        for (let i = 0; i < length; i++)
          damaged[start + at + i] = 255 - (whole[start + at + i] as number)
        writeFileSync(log, damaged)
        await expect(openSqliteStore(path)).rejects.toMatchObject({
          code: 'StoreUnavailable',
          message: expect.stringContaining(`batch ${n + 1} of its log is missing or damaged`),
          details: { reason: 'damaged', path },
        })
        expect(readFileSync(log)).toEqual(damaged)
      }
    }
    writeFileSync(log, whole)
    await expectSame(path, await modelOf([FIRST, ...LATER]))
  })

  it('STORE-13: a log that is gone is missed where the tables know how far it went', async () => {
    const opened = new OpenFile(undefined, { waitMs: 1e9, jobsAtOnce: 2, jobsTogether: 1 })
    opened.commit(FIRST)
    for (const batch of LATER) opened.commit(batch)
    await turns(4)
    const image = imageOf(opened.path)
    const others = ['-log-a', '-log-b'].filter((end) => existsSync(image + end))
    for (const end of others) rmSync(image + end)
    await expect(openSqliteStore(image)).rejects.toMatchObject({ details: { reason: 'damaged' } })
    for (const end of others) copyFileSync(opened.path + end, image + end)
    await expectSame(image, await modelOf([FIRST, ...LATER]))
  })

  it.each([0, 1])(
    'STORE-13: without syncs a power cut may tear batch %i before others, and these never come back',
    (tornOne) => {
      const opened = new OpenFile()
      const batches = [1, 2, 3, 4].map((n) => batchOf({ newJobs: [newJob(sampleJob(n))] }))
      for (const batch of batches) opened.commit(batch)
      const image = imageOf(opened.path)
      const log = readFileSync(`${image}-log-a`)
      const torn = (startsOf(batches)[tornOne] as number) + 60
      log[torn] = 255 - (log[torn] as number)
      writeFileSync(`${image}-log-a`, log)
      const seqsIn = (file: OpenFile) =>
        (file.read('jobs', { afterSeq: 0, limit: 9 }) as JobRow[]).map(({ seq }) => seq)
      const after = new OpenFile(image)
      const before = [1, 2].slice(0, tornOne)
      expect(seqsIn(after)).toEqual(before)
      // As long as the torn one, so that it ends where the next begins.
      expect(after.commit(batchOf({ newJobs: [newJob(sampleJob(5))] }))).toBe(true)
      expect(seqsIn(new OpenFile(imageOf(image)))).toEqual([...before, 5])
    },
  )

  it('STORE-14: long batches and short ones come back as they were, whoever made room for whom', async () => {
    const opened = new OpenFile()
    // Room is made for short ones in advance; a long one may begin in it and end behind it.
    const lengths = [1, 60_000, 10, 3_000, 100_000, 8_000, 8_300, 1, 200_000, 5]
    const batches = lengths.map((length, n) =>
      batchOf({ newJobs: [newJob(sampleJob(n + 1), Buffer.alloc(length, n + 1))] }),
    )
    for (const [n, batch] of batches.entries()) {
      expect(opened.commit(batch)).toBe(true)
      await expectSame(imageOf(opened.path), await modelOf(batches.slice(0, n + 1)))
    }
  })

  it('STORE-14: a checkpoint leaves nothing in them, and all in the file', async () => {
    const path = tempPath()
    const store = await openSqliteStore(path)
    onTestFinished(() => store.close())
    for (const batch of [FIRST, ...LATER]) await store.commit(batch)
    await store.checkpoint()
    const alone = tempPath()
    copyFileSync(path, alone)
    await expectSame(alone, await modelOf([FIRST, ...LATER]))
  })

  it('STORE-14: what an earlier turn left in them is of no account', async () => {
    const path = tempPath()
    const opened = new OpenFile(path, { waitMs: 0, jobsAtOnce: 1e9, sliceJobs: 64 })
    opened.commit(FIRST)
    for (const batch of LATER) {
      await vi.waitFor(() => expect(countsIn(path)).toMatchObject({ jobs: expect.any(Number) }))
      await turns(3)
      opened.commit(batch)
    }
    await expectSame(imageOf(path), await modelOf([FIRST, ...LATER]))
  })

  it('STORE-14: a batch in the format of another version is refused, and says what to do', () => {
    const { bytes } = encodeBatch(FIRST)
    bytes[0] = 99
    expect(() => new OpenFile().file.commit(bytes, 0)).toThrow(/format 99.*version that wrote it/)
  })

  it('STORE-14: those of another store are not taken for its own', async () => {
    const { path } = killed()
    const other = tempPath()
    const store = await openSqliteStore(other)
    await store.commit(FIRST)
    await store.close()
    copyFileSync(`${path}-log-a`, `${other}-log-a`)
    await expectSame(other, await modelOf([FIRST]))
  })

  it('STORE-14: are gone after a clean close', async () => {
    const { path } = killed()
    await (await openSqliteStore(path)).close()
    expect(readdirSync(dirname(path))).toEqual(['state.db'])
  })
})

/** Where each of these batches begins in a log that has nothing else. */
function startsOf(batches: readonly WriteBatch[]): number[] {
  let end = 0
  return batches.map((batch) => {
    const start = end
    end += HEAD_BYTES + encodeBatch(batch).bytes.length
    return start
  })
}

/** A process that commits and dies in the same moment; gives what it died of. */
function commitAndDie(path: string, batches: readonly WriteBatch[]): string | null {
  const dist = join(import.meta.dirname, '..', 'dist', 'sqlite')
  const script = `
    import { deserialize } from 'node:v8'
    import { encodeBatch } from '${join(dist, 'batch-codec.js')}'
    import { openSqliteFile } from '${join(dist, 'sqlite-file.js')}'
    const file = openSqliteFile(process.argv[1], {})
    for (const batch of deserialize(Buffer.from(process.argv[2], 'base64'))) {
      file.commit(encodeBatch(batch).bytes, 0)
    }
    process.kill(process.pid, 'SIGKILL')
  `
  const given = serialize(batches).toString('base64')
  const args = ['--no-warnings', '--input-type=module', '-e', script, path, given]
  return spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] }).signal
}
