import type { WriteBatch } from '@fairlead/core/internal'
import { describe, expect, it, vi } from 'vitest'
import { batchOf, newJob, START, sampleEntry, sampleJob } from '../src/conformance/sample-rows.ts'
import { MemoryStore } from '../src/memory/memory-store.ts'
import { TableWriter } from '../src/sqlite/table-writer.ts'
import { imageOf, OpenFile, turns } from './open-file.ts'

/** Three rows are much: they go into their tables at once, a job between any two calls, and in one transaction. */
const PACE = { waitMs: 1e9, jobsAtOnce: 3, sliceJobs: 1 }

const FIRST = batchOf({
  newJobs: [1, 2, 3, 4].map((n) => newJob(sampleJob(n), Uint8Array.of(n))),
  journal: [1, 2, 3, 4].map((n) => sampleEntry(n, { jobSeq: n })),
})

/** Changes what is carried while it is synced. */
const SECOND = batchOf({
  newJobs: [newJob(sampleJob(5), Uint8Array.of(5))],
  jobs: [2, 3, 4].map((n) => sampleJob(n, { status: 'CANCELED', endedAt: START + n })),
  journal: [sampleEntry(5, { jobSeq: 4 }), sampleEntry(6, { jobSeq: 5 })],
})

/** A file whose first batch is being carried. */
async function beingCarried(): Promise<OpenFile> {
  const opened = new OpenFile(undefined, PACE, 'full')
  opened.commit(FIRST)
  await turns(1)
  return opened
}

async function expectSame(opened: OpenFile, batches: readonly WriteBatch[]): Promise<void> {
  const model = new MemoryStore()
  for (const batch of batches) await model.commit(batch)
  expect(opened.read('everything')).toEqual(await model.read.everything())
  expect(opened.load()).toEqual(await model.load())
}

describe('a batch that comes while rows are carried', () => {
  it('STORE-14: is synced beside that, and is there after a kill', async () => {
    const opened = await beingCarried()
    const isTaken = opened.commitBeside(SECOND)
    // Some of what it changes is carried before it is known to be there.
    await turns(1)
    expect(await isTaken).toBe(true)
    await expectSame(new OpenFile(imageOf(opened.path)), [FIRST, SECOND])
    await turns(20)
    await expectSame(new OpenFile(imageOf(opened.path)), [FIRST, SECOND])
    await expectSame(opened, [FIRST, SECOND])
  })

  it('STORE-14: is not there if its sync fails, nor is anything of it that was carried meanwhile', async () => {
    const opened = await beingCarried()
    const mend = opened.breakSyncs()
    const isTaken = opened.commitBeside(SECOND)
    await turns(1)
    expect(await isTaken).toBe(false)
    mend()
    await expectSame(new OpenFile(imageOf(opened.path)), [FIRST])
    await expectSame(opened, [FIRST])
    expect(opened.commit(SECOND)).toBe(true)
    await expectSame(new OpenFile(imageOf(opened.path)), [FIRST, SECOND])
  })

  it('STORE-14: is there if what was carried meanwhile failed', async () => {
    const opened = await beingCarried()
    const isTaken = opened.commitBeside(SECOND)
    const write = vi.spyOn(TableWriter.prototype, 'writeJobs').mockImplementationOnce(() => {
      throw new Error('disk I/O error')
    })
    await turns(1)
    expect(await isTaken).toBe(true)
    expect(write).toHaveBeenCalled()
    write.mockRestore()
    await expectSame(opened, [FIRST, SECOND])
    await expectSame(new OpenFile(imageOf(opened.path)), [FIRST, SECOND])
  })
})

it('STORE-12: a batch whose sync fails is not there, and the next takes its place', async () => {
  const opened = new OpenFile(undefined, { waitMs: 1e9 }, 'full')
  opened.commit(FIRST)
  const mend = opened.breakSyncs()
  expect(opened.commit(SECOND)).toBe(false)
  mend()
  await expectSame(new OpenFile(imageOf(opened.path)), [FIRST])
  expect(opened.commit(SECOND)).toBe(true)
  await expectSame(opened, [FIRST, SECOND])
})
