import { expect, it } from 'vitest'
import { batchOf, newJob, sampleEntry, sampleJob, sampleLease } from './sample-rows.ts'
import type { Subject } from './tables-conformance.ts'

/** The n-th batch: a job, its lease and an entry, and the job before it changes. */
function batchNumber(n: number) {
  return batchOf({
    newJobs: [newJob(sampleJob(n))],
    newLeases: [sampleLease(n)],
    jobs: n === 1 ? [] : [sampleJob(n - 1, { status: 'RUNNING' })],
    journal: [sampleEntry(n, { jobSeq: n })],
    meta: { last: String(n) },
  })
}

export function durableRules({ tables, apply, reopen, crash }: Subject): void {
  it('STORE-14: what was applied is read at once, and is there after a restart', async () => {
    for (let n = 1; n <= 5; n++) {
      await apply(batchNumber(n))
      expect((await tables().read.job(sampleJob(n).id))?.status).toBe('QUEUED')
      expect(await tables().load()).toMatchObject({ batch: n, meta: { last: String(n) } })
    }
    const before = await tables().read.everything()
    await reopen()
    expect(await tables().read.everything()).toEqual(before)
    expect((await tables().load()).batch).toBe(5)
  })

  it('STORE-14: an apply tells which batches are durable, and a sync makes all of them so', async () => {
    const durable = await apply(batchNumber(1))
    expect(durable).toBeLessThanOrEqual(1)
    expect(await tables().sync()).toBe(1)
    expect(await tables().sync()).toBe(1)
    expect(await apply(batchNumber(2))).toBeGreaterThanOrEqual(1)
  })

  it('STORE-13: a crash takes whole batches, and none that was durable', async () => {
    for (let n = 1; n <= 3; n++) await apply(batchNumber(n))
    await tables().sync()
    for (let n = 4; n <= 6; n++) await apply(batchNumber(n))
    await crash()
    const { batch, jobs, leases, meta, lastEntry } = await tables().load()
    expect(batch).toBeGreaterThanOrEqual(3)
    expect(jobs.map(({ seq }) => seq)).toEqual(Array.from({ length: batch }, (_, i) => i + 1))
    expect(jobs.at(-1)?.status).toBe('QUEUED')
    expect(jobs.slice(0, -1).every(({ status }) => status === 'RUNNING')).toBe(true)
    expect([leases.length, lastEntry, meta['last']]).toEqual([batch, batch, String(batch)])
    // And it goes on behind that batch, with the batches of the log.
    for (let n = batch + 1; n <= 7; n++) await tables().apply(batchNumber(n), n)
    expect((await tables().load()).jobs).toHaveLength(7)
  })

  it('STORE-2: a batch that was refused can be given again once nothing is against it', async () => {
    await apply(batchNumber(1))
    const third = batchNumber(3)
    await expect(tables().apply(third, 3)).rejects.toMatchObject({ code: 'StoreUnavailable' })
    expect((await tables().load()).batch).toBe(1)
    await tables().apply(batchNumber(2), 2)
    await tables().apply(third, 3)
    expect(await tables().load()).toMatchObject({ batch: 3, lastEntry: 3 })
  })

  it('STORE-14: the number of a batch never goes back, and may go on by more than one', async () => {
    await tables().apply(batchNumber(1), 7)
    await expect(tables().apply(batchNumber(2), 6)).rejects.toMatchObject({
      details: { reason: 'constraint' },
    })
    await tables().apply(batchNumber(2), 7)
    await reopen()
    expect(await tables().load()).toMatchObject({ batch: 7, lastEntry: 2 })
  })

  it('STORE-16: a scrub tells the durable batch if something was erased since the last one', async () => {
    await apply(batchNumber(1))
    expect(await tables().scrub()).toBeNull()
    const ended = sampleJob(2, { kind: 'registration', status: 'COMPLETED', endedAt: 5 })
    const eraseEnded = { from: 0, before: 9 }
    await tables().apply(batchOf({ newJobs: [newJob(ended)], eraseEnded }), 2)
    expect(await tables().scrub()).toBe(2)
    expect(await tables().scrub()).toBeNull()
  })
}
