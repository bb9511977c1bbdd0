import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { serialize } from 'node:v8'
import type { WriteBatch } from '@fairlead/core'
import fc from 'fast-check'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ANY_IDS, ANY_TX, anyBatch } from '../src/conformance/any-batch.ts'
import {
  batchOf,
  callerOf,
  jobIdOf,
  named,
  newJob,
  START,
  sampleEntry,
  sampleJob,
  sampleLease,
  sampleProvider,
  sampleResult,
} from '../src/conformance/sample-rows.ts'
import { MemoryStore } from '../src/memory/memory-store.ts'
import { encodeBatch } from '../src/sqlite/batch-codec.ts'
import { openDatabase } from '../src/sqlite/driver.ts'
import { openSqliteFile, type SqliteFile } from '../src/sqlite/sqlite-file.ts'
import type { DirectReads } from '../src/sqlite/sqlite-reads.ts'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { tempPath } from './temp-store.ts'

/** A file on this thread: between two of its calls no time passes, so nothing is carried over. */
class OpenFile {
  readonly path: string
  readonly file: SqliteFile
  #refusals = 0
  #isClosed = false

  constructor(path = tempPath()) {
    this.path = path
    this.file = openSqliteFile(path, { durability: 'relaxed' })
    onTestFinished(() => this.close())
  }

  close(): void {
    if (!this.#isClosed) this.file.close()
    this.#isClosed = true
  }

  /** Whether the batch was taken. */
  commit(batch: WriteBatch): boolean {
    try {
      const { bytes, recordsAt } = encodeBatch(batch)
      this.file.commit(bytes, recordsAt, this.#refusals)
      return true
    } catch {
      this.#refusals++
      return false
    }
  }

  /** As another thread gets it. */
  read(name: keyof DirectReads, ...args: readonly unknown[]): unknown {
    return structuredClone(this.file.read(name, args))
  }
}

/** The file as it would be found if the machine stopped now. */
function imageOf(path: string): string {
  const image = tempPath()
  for (const end of ['', '-wal']) {
    if (existsSync(path + end)) copyFileSync(path + end, image + end)
  }
  return image
}

/** How many rows these tables have by now. */
function countsIn(path: string): Readonly<Record<string, number>> {
  const db = openDatabase(imageOf(path))
  const count = (table: string) =>
    Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'])
  const counts = { log: count('log'), jobs: count('jobs'), journal: count('journal') }
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
    journal: [sampleEntry(4, { jobSeq: 1 }), sampleEntry(5, { jobSeq: 4 })],
    meta: { batch: '2' },
  }),
  batchOf({
    newLeases: [sampleLease(4), sampleLease(2, { attempt: 1 })],
    leases: [{ ...sampleLease(2), status: 'CANCELLED' }],
    jobs: [sampleJob(4, { status: 'ASSIGNED', attempt: 0 })],
    providers: [sampleProvider(1, { health: 900 })],
    journal: [sampleEntry(6, { jobSeq: 4 })],
    meta: { batch: '3' },
  }),
  batchOf({
    jobs: [sampleJob(4, { status: 'RUNNING', attempt: 0 })],
    leases: [{ ...sampleLease(4), isAcked: true }],
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
    expect(countsIn(path)).toMatchObject({ log: 0, jobs: 3 })

    expect(commitAndDie(path, LATER)).toBe('SIGKILL')
    expect(countsIn(path)).toMatchObject({ log: 3, jobs: 3, journal: 4 })
    await expectSame(path, await modelOf([FIRST, ...LATER]))
    expect(countsIn(path)).toMatchObject({ log: 0, jobs: 4 })
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
    expect(countsIn(path)).toMatchObject({ log: 0, jobs: 4 })
    await expectSame(path, await modelOf([FIRST, ...LATER]))
  })

  it('STORE-14: are found by payload and key without being carried over, and by all else with', async () => {
    const opened = new OpenFile()
    for (const batch of [FIRST, ...LATER]) opened.commit(batch)
    expect(opened.read('payloads', [4, 5, 1])).toEqual([Uint8Array.of(4), null, Uint8Array.of(1)])
    const key = { caller: callerOf(1), txHash: named('tx', 4) }
    expect(opened.read('jobsByTx', [key])).toEqual([{ id: jobIdOf(4), payload: Uint8Array.of(4) }])
    expect(countsIn(opened.path)).toMatchObject({ log: 4, jobs: 0 })
    expect(opened.read('job', jobIdOf(4))).toMatchObject({ status: 'RUNNING' })
    expect(countsIn(opened.path)).toMatchObject({ log: 0, jobs: 4 })
  })

  it('STORE-14: wait for 200 ms and no longer', () => {
    vi.useFakeTimers()
    const opened = new OpenFile()
    opened.commit(FIRST)
    vi.advanceTimersByTime(150)
    opened.commit(LATER[0] as WriteBatch)
    vi.advanceTimersByTime(49)
    expect(countsIn(opened.path)).toMatchObject({ log: 2, jobs: 0 })
    vi.advanceTimersByTime(1)
    expect(countsIn(opened.path)).toMatchObject({ log: 0, jobs: 4 })
    // The next ones have a time of their own.
    opened.commit(LATER[1] as WriteBatch)
    vi.advanceTimersByTime(199)
    expect(countsIn(opened.path)).toMatchObject({ log: 1 })
    vi.advanceTimersByTime(1)
    expect(countsIn(opened.path)).toMatchObject({ log: 0 })
  })

  it('STORE-14: wait for 6,000 rows and no more', () => {
    const opened = new OpenFile()
    // A job is a row, and its payload another.
    const newJobs = Array.from({ length: 2_999 }, (_, n) => newJob(sampleJob(n + 1)))
    opened.commit(batchOf({ newJobs, meta: { batch: '1' } }))
    expect(countsIn(opened.path)).toMatchObject({ log: 1, jobs: 0 })
    opened.commit(batchOf({ meta: { batch: '2' } }))
    expect(countsIn(opened.path)).toMatchObject({ log: 0, jobs: 2_999 })
  })
})

it('STORE-14: any run of batches is the same from the log, from the tables and after a power cut', async () => {
  const property = fc.asyncProperty(fc.gen(), async (draw) => {
    const opened = new OpenFile()
    const model = new MemoryStore()
    const batches = draw(fc.integer, { min: 2, max: 8 })
    for (let k = 0; k < batches; k++) {
      const batch = await anyBatch(draw, model, k)
      const isTaken = await model.commit(batch).then(
        () => true,
        () => false,
      )
      expect(opened.commit(batch)).toBe(isTaken)
      // At times what is in the log goes into the tables in between.
      if (draw(fc.nat, { max: 4 }) === 0) opened.read('job', jobIdOf(1))
    }
    expect(opened.read('jobsByTx', ANY_TX)).toEqual(await model.read.jobsByTx(ANY_TX))
    const expected = await model.read.everything()
    const after = new OpenFile(imageOf(opened.path))
    for (const file of [after, opened]) {
      expect(file.read('everything')).toEqual(expected)
      for (const id of ANY_IDS) {
        expect(file.read('timeline', id)).toEqual(await model.read.timeline(id))
        expect(file.read('result', id)).toEqual(await model.read.result(id))
      }
      file.close()
    }
  })
  await fc.assert(property, { numRuns: 60, endOnFailure: true })
})

/** A process that commits and dies in the same moment; gives what it died of. */
function commitAndDie(path: string, batches: readonly WriteBatch[]): string | null {
  const dist = join(import.meta.dirname, '..', 'dist', 'sqlite')
  const script = `
    import { deserialize } from 'node:v8'
    import { encodeBatch } from '${join(dist, 'batch-codec.js')}'
    import { openSqliteFile } from '${join(dist, 'sqlite-file.js')}'
    const file = openSqliteFile(process.argv[1], {})
    for (const batch of deserialize(Buffer.from(process.argv[2], 'base64'))) {
      const { bytes, recordsAt } = encodeBatch(batch)
      file.commit(bytes, recordsAt, 0)
    }
    process.kill(process.pid, 'SIGKILL')
  `
  const given = serialize(batches).toString('base64')
  const args = ['--no-warnings', '--input-type=module', '-e', script, path, given]
  return spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] }).signal
}
