import { describe, expect, it } from 'vitest'
import {
  batchOf,
  jobIdOf,
  newJob,
  START,
  sampleJob,
  sampleLease,
} from '../src/conformance/sample-rows.ts'
import { openDatabase } from '../src/sqlite/driver.ts'
import type { Pace } from '../src/sqlite/table-checkpointer.ts'
import { imageOf, OpenFile, turns } from './open-file.ts'

/** A job of these has three names: its id, its caller's id with its tx_hash, and the id of its lease. */
const NAMES = 3
const TOGETHER = 4
const JOBS = 200
/** Carried at once, four jobs in a transaction. */
const PACE: Partial<Pace> = { waitMs: 1e9, jobsAtOnce: 1, sliceJobs: 8, jobsTogether: TOGETHER }

/** Commits jobs, and carries them. */
async function carried(opened: OpenFile, from: number, to: number): Promise<void> {
  for (let first = from; first <= to; first += TOGETHER) {
    const numbers = Array.from({ length: TOGETHER }, (_, i) => first + i)
    const newLeases = numbers.map((n) => sampleLease(n, { status: 'COMPLETED' }))
    const newJobs = numbers.map((n) =>
      newJob(sampleJob(n, { status: 'COMPLETED', attempt: 0, endedAt: START + n })),
    )
    expect(opened.commit(batchOf({ newJobs, newLeases }))).toBe(true)
    await turns(12)
  }
}

/** What the file of a store has: the names in their table, in its order, and in how many pieces others are. */
function namesIn(path: string): { readonly jobs: readonly number[]; readonly pieces: number } {
  const db = openDatabase(imageOf(path))
  const jobs = db.prepare('SELECT job FROM names ORDER BY name, job').all()
  const pieces = Number(db.prepare('SELECT count(*) AS n FROM new_names').get()?.['n'])
  db.close()
  return { jobs: jobs.map(({ job }) => job as number), pieces }
}

function expectFound(opened: OpenFile, from: number, to: number): void {
  for (let n = from; n <= to; n++) {
    expect(opened.read('job', jobIdOf(n))).toMatchObject({ seq: n })
    expect(opened.read('leases', jobIdOf(n))).toMatchObject([{ jobId: jobIdOf(n) }])
  }
}

describe('the names of jobs in their tables', () => {
  it('STORE-14: wait beside their table, and lead to the job all the same, also after a kill', async () => {
    const opened = new OpenFile(undefined, { ...PACE, hashesWaiting: NAMES * JOBS })
    await carried(opened, 1, JOBS)
    expect(namesIn(opened.path)).toMatchObject({ jobs: [], pieces: JOBS / TOGETHER })
    expectFound(opened, 1, JOBS)
    expectFound(new OpenFile(imageOf(opened.path)), 1, JOBS)
  })

  it('STORE-14: move into it side by side when there are many, and their pieces go when all of them have', async () => {
    const hashesWaiting = 10 * NAMES
    const opened = new OpenFile(undefined, { ...PACE, hashesWaiting })
    let moved: readonly number[] = []
    for (let first = 1; first <= JOBS; first += TOGETHER) {
      await carried(opened, first, first)
      const { jobs, pieces } = namesIn(opened.path)
      expect(jobs.length).toBeGreaterThanOrEqual(moved.length)
      // About as many as come.
      expect(jobs.length - moved.length).toBeLessThanOrEqual(2 * NAMES * TOGETHER)
      // Fifty come; those of two ways through the table may be there.
      expect(pieces).toBeLessThanOrEqual(20)
      moved = jobs
    }
    expect(moved.length).toBeGreaterThan(NAMES * JOBS - 2 * hashesWaiting)
    expect(moved.length).toBeLessThan(NAMES * JOBS)
    expectFound(opened, 1, JOBS)
    // After a kill some are in the table and in a piece.
    const after = new OpenFile(imageOf(opened.path), { ...PACE, hashesWaiting: 0 })
    expectFound(after, 1, JOBS)
    await carried(after, JOBS + 1, 2 * JOBS)
    expectFound(after, 1, 2 * JOBS)
    expect(new Set(namesIn(after.path).jobs).size).toBeGreaterThan(JOBS)
  })

  it('STORE-10: go with the job, wherever they are, and do not come back', async () => {
    const opened = new OpenFile(undefined, { ...PACE, hashesWaiting: 10 * NAMES })
    await carried(opened, 1, JOBS)
    expect(opened.commit(batchOf({ pruneEndedBefore: START + JOBS - 2 }))).toBe(true)
    const left = [JOBS - 2, JOBS - 1, JOBS]
    expect(namesIn(opened.path).jobs.filter((job) => !left.includes(job))).toEqual([])
    const after = new OpenFile(imageOf(opened.path), { ...PACE, hashesWaiting: 0 })
    await carried(after, JOBS + 1, JOBS + 8 * TOGETHER)
    expect(namesIn(after.path).jobs.filter((job) => job < JOBS - 2)).toEqual([])
    // And are free.
    const again = batchOf({ newJobs: [newJob(sampleJob(1, { seq: 1_000 }))] })
    expect(after.commit(again)).toBe(true)
  })

  it('STORE-14: a transaction that is undone leaves them as they were', async () => {
    const opened = new OpenFile(undefined, { ...PACE, hashesWaiting: 10 * NAMES })
    await carried(opened, 1, JOBS)
    // Written for a read, and not committed; then refused, and so undone.
    opened.commit(batchOf({ newJobs: [newJob(sampleJob(JOBS + 1))] }))
    expectFoundJob(opened, JOBS + 1)
    expect(opened.commit(batchOf({ jobs: [sampleJob(999)] }))).toBe(false)
    expectFound(opened, 1, JOBS)
    expectFoundJob(opened, JOBS + 1)
    await carried(opened, JOBS + 5, 2 * JOBS)
    expectFound(new OpenFile(imageOf(opened.path)), 1, JOBS)
  })
})

function expectFoundJob(opened: OpenFile, n: number): void {
  expect(opened.read('job', jobIdOf(n))).toMatchObject({ seq: n })
}
