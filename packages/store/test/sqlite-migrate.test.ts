import { expect, it, onTestFinished } from 'vitest'
import {
  batchOf,
  jobIdOf,
  newJob,
  START,
  sampleEntry,
  sampleFailure,
  sampleJob,
  sampleLease,
  sampleProvider,
  sampleResult,
  sampleRound,
} from '../src/conformance/sample-rows.ts'
import { encodeBatch } from '../src/sqlite/batch-codec.ts'
import { openDatabase } from '../src/sqlite/driver.ts'
import { LogEnd } from '../src/sqlite/log-end.ts'
import { openSqliteFile } from '../src/sqlite/sqlite-file.ts'
import { openSqliteStore, type SqliteStore } from '../src/sqlite/sqlite-store.ts'
import { makeOlder } from './older-file.ts'
import { imageOf } from './open-file.ts'
import { tempPath } from './temp-store.ts'

/** What version 3 could hold: a job that is gone and its result, and rows of every table. */
const OLD = [
  batchOf({
    newJobs: [newJob(sampleJob(1, { status: 'COMPLETED', endedAt: START }))],
    results: [sampleResult(1, { caller: null, output: Uint8Array.of(1) })],
  }),
  batchOf({
    newJobs: [2, 3, 4].map((n) => newJob(sampleJob(n, { regions: ['eu'], retries: n }))),
    newLeases: [
      sampleLease(2, { status: 'EXPIRED' }),
      sampleLease(2, { attempt: 1, status: 'RENEWED' }),
      sampleLease(3),
    ],
    providers: [sampleProvider(1, { maxDepth: 4, region: 'eu' })],
    results: [sampleResult(3, { caller: null })],
    rounds: [sampleRound(1)],
    journal: [sampleEntry(1), sampleEntry(2, { jobSeq: 2 })],
    meta: { beat: '1' },
    pruneEndedBefore: START + 1,
  }),
]

async function opened(path: string): Promise<SqliteStore> {
  const store = await openSqliteStore(path)
  onTestFinished(() => store.close())
  return store
}

/** The statements that make the schema, by name. */
function schemaOf(path: string): readonly unknown[] {
  const db = openDatabase(path)
  const rows = db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all()
  db.close()
  return rows.map((row) => ({ ...row }))
}

function versionOf(path: string): unknown {
  const db = openDatabase(path)
  const version = db.prepare('PRAGMA user_version').get()?.['user_version']
  db.close()
  return version
}

it('STORE-11: a file of version 3 is brought forward with its rows, and goes on like a new one', async () => {
  const path = tempPath()
  const before = await opened(path)
  for (const batch of OLD) await before.commit(batch)
  const rows = await before.read.everything()
  const snapshot = await before.load()
  await before.close()
  const newest = schemaOf(path)
  makeOlder(path, 3)
  expect(schemaOf(path)).not.toEqual(newest)

  const store = await opened(path)
  expect(await store.read.everything()).toEqual(rows)
  expect(await store.load()).toEqual(snapshot)
  const jobs = await store.read.jobs({ afterSeq: 0, limit: 9 })
  expect(jobs).toMatchObject([2, 3, 4].map((seq) => ({ seq, needs: null, workerLosses: 0 })))
  // The guards of the table that was built anew.
  const second = batchOf({ newLeases: [sampleLease(3, { attempt: 1 })] })
  await expect(store.commit(second)).rejects.toMatchObject({ details: { reason: 'constraint' } })
  const uncapped = sampleLease(4, { renewalsMax: null })
  await store.commit(batchOf({ newLeases: [uncapped], failures: [sampleFailure(4)] }))
  expect(await store.read.lease(uncapped.id)).toEqual(uncapped)
  expect(await store.read.failures(jobIdOf(4))).toEqual([sampleFailure(4)])
  // Of a result that outlived its job before, the time is not known to the index: it stays.
  const done = sampleJob(3, { status: 'COMPLETED', endedAt: START })
  const over = { ...sampleLease(3), status: 'COMPLETED' } as const
  await store.commit(batchOf({ jobs: [done], leases: [over] }))
  const times = { pruneEndedBefore: START + 1, pruneResultsBefore: START + 99 }
  await store.commit(batchOf(times))
  expect(await store.read.result(jobIdOf(3))).toBeNull()
  expect(await store.read.result(jobIdOf(1))).toMatchObject({ jobSeq: 1, caller: null })
  await store.close()
  expect(schemaOf(path)).toEqual(newest)
})

it('STORE-11: a file of version 3 whose log cannot be read is refused, and stays what it is', async () => {
  const path = tempPath()
  const logEnd = new LogEnd()
  const file = openSqliteFile(path, { durability: 'relaxed' }, { logEnd })
  onTestFinished(() => file.close())
  void file.commit(encodeBatch(batchOf({ newJobs: [newJob(sampleJob(1))] })).bytes, 0)
  const { bytes } = encodeBatch(batchOf({ newJobs: [newJob(sampleJob(2))] }))
  bytes[0] = 4
  logEnd.holding(() => logEnd.append(bytes))
  const image = imageOf(path)
  makeOlder(image, 3)
  const before = schemaOf(image)
  const refusal = /format 4.*start and stop it once with the version that wrote it/
  await expect(openSqliteStore(image)).rejects.toThrow(refusal)
  expect(schemaOf(image)).toEqual(before)
  expect(versionOf(image)).toBe(3)
})
