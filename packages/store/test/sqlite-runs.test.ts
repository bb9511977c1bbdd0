import { isLive, type LeaseRow } from '@fairlead/core'
import type { WriteBatch } from '@fairlead/core/internal'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ANY_IDS, ANY_TX, anyBatch } from '../src/conformance/any-batch.ts'
import {
  batchOf,
  jobIdOf,
  newJob,
  START,
  sampleJob,
  sampleLease,
} from '../src/conformance/sample-rows.ts'
import { MemoryStore } from '../src/memory/memory-store.ts'
import type { DirectReads } from '../src/sqlite/sqlite-reads.ts'
import { imageOf, OpenFile, turns } from './open-file.ts'

/** `npm run test:long` takes more of them. */
const RUNS = process.env['LONG_TESTS'] ? 150 : 20

/** So few names wait for those beside them: all of them go into their table at once, or some, or hardly any. */
const NAMES_WAITING = [0, 3, 1_000]

/** Any of the reads, of what is there and of what is not. */
async function anyRead(
  draw: fc.GeneratorValue,
  model: MemoryStore,
): Promise<[keyof DirectReads, ...unknown[]]> {
  const name = draw(fc.constantFrom, ...READS)
  const id = draw(fc.constantFrom, ...ANY_IDS)
  const limit = draw(fc.integer, { min: 1, max: 4 })
  const status = draw(fc.constantFrom, undefined, 'QUEUED' as const, 'COMPLETED' as const)
  const edges = draw(
    fc.constantFrom,
    { afterSeq: 0 },
    { afterSeq: 2 },
    { afterSeq: 0, beforeSeq: 4 },
  )
  if (name === 'jobs') {
    const idPrefix = draw(fc.constantFrom, undefined, id.slice(0, 10), id)
    const given = Object.entries({ status, idPrefix }).filter(([, value]) => value !== undefined)
    return [name, { ...edges, limit, ...Object.fromEntries(given) }]
  }
  if (name === 'journal') return [name, draw(fc.nat, { max: 6 }), limit]
  if (name === 'round') return [name, draw(fc.nat, { max: 3 }), 'ai']
  if (name === 'everything') return [name]
  const leases = await model.read.leases(id)
  return [name, name === 'lease' ? (leases.at(-1)?.id ?? id) : id]
}

const READS = [
  'job',
  'leases',
  'failures',
  'lease',
  'result',
  'timeline',
  'journal',
  'round',
  'jobs',
  'everything',
] as const

it('STORE-14, STORE-17: any run of batches, whoever writes them, is the same from the log, from the tables and after a power cut', async () => {
  const property = fc.asyncProperty(fc.gen(), async (draw) => {
    // Carried one job at a time and a few in a transaction, so that most of it happens while other batches come.
    const jobsTogether = draw(fc.constantFrom, 1, 2, 100)
    const hashesWaiting = draw(fc.constantFrom, ...NAMES_WAITING)
    const pace = { waitMs: 1e9, jobsAtOnce: 2, sliceJobs: 1, jobsTogether, hashesWaiting }
    const opened = new OpenFile(undefined, pace)
    const model = new MemoryStore()
    const batches = draw(fc.integer, { min: 2, max: 8 })
    for (let k = 0; k < batches; k++) {
      const batch = await anyBatch(draw, model, k)
      const before = await model.read.everything()
      const isTaken = await model.commit(batch).then(
        () => true,
        () => false,
      )
      if (isForLog(batch) && opened.hasRoom(batch) && draw(fc.boolean)) {
        // Whoever finds it before it was looked at has all of it, if it may be done, or nothing.
        const image = { path: '' }
        const cut = () => {
          image.path = imageOf(opened.path)
        }
        expect(opened.commitGiven(batch, cut)).toBe(isTaken)
        const found = new OpenFile(image.path, { hashesWaiting })
        const now = isTaken ? await model.read.everything() : before
        expect(found.read('everything')).toEqual(now)
        found.close()
      } else expect(opened.commit(batch)).toBe(isTaken)
      await turns(draw(fc.nat, { max: 3 }))
      // As after a failed write: what is alive goes into the tables, and what has ended waits on.
      if (draw(fc.nat, { max: 3 }) === 0) expect(opened.load()).toEqual(await model.load())
      // A read puts what it looks for into the tables, and that in the middle of a carrying.
      for (let reads = draw(fc.nat, { max: 2 }); reads > 0; reads--) {
        const [name, ...args] = await anyRead(draw, model)
        const read = model.read[name] as (...given: unknown[]) => Promise<unknown>
        expect([name, ...args, opened.read(name, ...args)]).toEqual([
          name,
          ...args,
          await read(...args),
        ])
      }
    }
    expect(opened.read('jobsByTx', ANY_TX)).toEqual(await model.read.jobsByTx(ANY_TX))
    const expected = await model.read.everything()
    const after = new OpenFile(imageOf(opened.path), { hashesWaiting })
    for (const file of [after, opened]) {
      expect(file.load()).toEqual(await model.load())
      expect(file.read('everything')).toEqual(expected)
      for (const id of ANY_IDS) {
        expect(file.read('timeline', id)).toEqual(await model.read.timeline(id))
        expect(file.read('result', id)).toEqual(await model.read.result(id))
        expect(file.read('leases', id)).toEqual(await model.read.leases(id))
        expect(file.read('failures', id)).toEqual(await model.read.failures(id))
      }
      file.close()
    }
  })
  await fc.assert(property, { numRuns: RUNS, endOnFailure: true })
})

/** Jobs that are in their tables from the start on. */
const JOBS_ON_THEIR_WAY = [1, 2, 3, 4]

/** Each goes on its way by one step, or not: it gets, keeps, loses or completes a lease. */
async function nextSteps(draw: fc.GeneratorValue, model: MemoryStore): Promise<WriteBatch> {
  const jobs: WriteBatch['jobs'][number][] = []
  const newLeases: LeaseRow[] = []
  const leases: LeaseRow[] = []
  for (const n of JOBS_ON_THEIR_WAY) {
    const last = (await model.read.leases(jobIdOf(n))).at(-1)
    if (last?.status === 'COMPLETED' || draw(fc.nat, { max: 2 }) === 0) continue
    const isHeld = last !== undefined && isLive(last.status)
    const attempt = (last?.attempt ?? -1) + (isHeld ? 0 : 1)
    const status = isHeld ? draw(fc.constantFrom, ...STEPS_OF_A_LEASE) : 'ACTIVE'
    ;(isHeld ? leases : newLeases).push(sampleLease(n, { attempt, status }))
    const end = { status, attempt: 0, endedAt: START + n } as const
    jobs.push(sampleJob(n, status === 'COMPLETED' ? { ...end, status } : { attempt }))
  }
  return batchOf({ jobs, newLeases, leases })
}

const STEPS_OF_A_LEASE = ['RENEWED', 'CANCELLED', 'CANCELLED', 'COMPLETED'] as const

it('STORE-14: jobs that go from lease to lease are the same after a kill or a refusal at any moment', async () => {
  const property = fc.asyncProperty(fc.gen(), async (draw) => {
    const jobsTogether = draw(fc.constantFrom, 1, 2, 3)
    const hashesWaiting = draw(fc.constantFrom, ...NAMES_WAITING)
    const pace = { waitMs: 1e9, jobsAtOnce: 1, sliceJobs: 1, jobsTogether, hashesWaiting }
    const opened = new OpenFile(undefined, pace)
    const model = new MemoryStore()
    const newJobs = JOBS_ON_THEIR_WAY.map((n) => newJob(sampleJob(n)))
    let batch = batchOf({ newJobs })
    for (let k = 0; k < 16; k++) {
      await model.commit(batch)
      expect(opened.commit(batch)).toBe(true)
      if (k === 0) opened.file.checkpoint()
      // Mostly none, so that a job may go several steps between two that the tables see.
      await turns(draw(fc.constantFrom, 0, 0, 0, 0, 1, 2, 3, 20))
      // A read puts what it looks for into its table ahead of the others.
      if (draw(fc.boolean)) {
        opened.read('job', jobIdOf(draw(fc.constantFrom, ...JOBS_ON_THEIR_WAY)))
      }
      // After a refusal all that waits is merged anew.
      if (draw(fc.boolean)) expect(opened.commit(batchOf({ jobs: [sampleJob(99)] }))).toBe(false)
      batch = await nextSteps(draw, model)
    }
    const found = new OpenFile(imageOf(opened.path), { hashesWaiting })
    for (const file of [found, opened]) {
      expect(file.read('everything')).toEqual(await model.read.everything())
      for (const n of JOBS_ON_THEIR_WAY) {
        const id = jobIdOf(n)
        expect(file.read('leases', id)).toEqual(await model.read.leases(id))
      }
      file.close()
    }
  })
  await fc.assert(property, { numRuns: RUNS, endOnFailure: true })
})

/** Whether a batch that comes alone may be written by its giver (STORE-17). */
function isForLog(batch: WriteBatch): boolean {
  const { pruneEndedBefore, pruneResultsBefore, eraseEnded, cutJournalAt } = batch
  return [pruneEndedBefore, pruneResultsBefore, eraseEnded, cutJournalAt].every((it) => it === null)
}
