import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { batchOf, jobIdOf, newJob, START, sampleJob } from '../src/conformance/sample-rows.ts'
import { openDatabase, openReadOnly, prepare } from '../src/sqlite/driver.ts'
import { PRUNED_AT_ONCE } from '../src/sqlite/tables/table-writer.ts'
import { applyLogged } from './open-logged.ts'
import { applySamples, opened } from './sample-store.ts'
import { tempPath } from './temp-store.ts'

it('STORE-8: reads write nothing', async () => {
  const path = tempPath()
  const store = await opened(path)
  await applySamples(store, 1, 3)
  await store.tables.sync()
  const other = openDatabase(path)
  const version = prepare(other, 'PRAGMA data_version')
  const before = [version.get(), readFileSync(`${path}-wal`)]
  const { read } = store
  const [job] = await read.jobs({ afterSeq: 0, limit: 1 })
  const id = job?.id ?? jobIdOf(1)
  await Promise.all([read.job(id), read.leases(id), read.timeline(id), read.result(id)])
  await Promise.all([read.journal(0, 9), read.payloads([1]), read.assignmentsSince(0)])
  await Promise.all([read.everything(), store.tables.load(), store.overview(), store.sealed()])
  expect(await store.tables.sync()).toBe(3)
  expect([version.get(), readFileSync(`${path}-wal`)]).toEqual(before)
  other.close()
  await store.close()
})

it('STORE-3: other programs read what was committed, in tables for people', async () => {
  const path = tempPath()
  const store = await opened(path)
  await applySamples(store, 1, 2)
  await store.tables.commit()
  await applySamples(store, 3, 3)
  const other = openReadOnly(path)
  const first = prepare(other, 'SELECT id, status, enqueued FROM job_list ORDER BY seq LIMIT 1')
  expect(first.get()).toEqual([jobIdOf(1), 'COMPLETED', '2025-10-09 08:53:20.001'])
  for (const view of ['lease_list', 'result_list', 'failure_list', 'journal_list', 'store_info']) {
    expect(() => prepare(other, `SELECT * FROM ${view}`).all()).not.toThrow()
  }
  expect(prepare(other, 'SELECT batch, jobs FROM store_info').get()).toEqual([2, 16])
  // A program that reads for long delays what is durable, and nothing else.
  other.exec('BEGIN')
  first.get()
  await store.tables.commit()
  await applySamples(store, 4, 4)
  expect(await store.tables.sync()).toBe(0)
  other.exec('COMMIT')
  expect(await store.tables.sync()).toBe(4)
  other.close()
  await store.close()
})

it('STORE-10: of many old jobs a part is deleted with each batch, and names that are needed are free', async () => {
  const store = await opened(tempPath())
  const count = 3 * PRUNED_AT_ONCE
  const ended = (n: number) => sampleJob(n, { status: 'COMPLETED', endedAt: START + n })
  const newJobs = Array.from({ length: count }, (_, i) => newJob(ended(i + 1)))
  await applyLogged(store, batchOf({ newJobs }), 1)
  const left = async () => (await store.read.jobs({ afterSeq: 0, limit: count })).length
  await applyLogged(store, batchOf({ pruneEndedBefore: START + count }), 2)
  expect(await left()).toBe(count - 2 * PRUNED_AT_ONCE)
  const again = newJob(sampleJob(count - 1, { seq: count + 1 }))
  await applyLogged(store, batchOf({ newJobs: [again] }), 3)
  expect(await left()).toBe(2)
  expect(await store.read.job(again.row.id)).toEqual(again.row)
  await store.close()
})
