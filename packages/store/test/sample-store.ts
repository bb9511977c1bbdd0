import { copyFileSync, existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { WriteBatch } from '@fairlead/core/internal'
import {
  batchOf,
  callerOf,
  newJob,
  START,
  sampleEntry,
  sampleFailure,
  sampleJob,
  sampleLease,
  sampleProvider,
  sampleResult,
  sampleRound,
  sampleSettlement,
} from '../src/conformance/sample-rows.ts'
import { MemoryTables } from '../src/memory/memory-tables.ts'
import {
  openSqliteStore,
  type SqliteInternals,
  type SqliteStore,
} from '../src/sqlite/sqlite-store.ts'
import { applyLogged } from './open-logged.ts'
import { tempPath } from './temp-store.ts'

/** Without threads, and with a small log; nothing is committed by itself. */
export const QUIET: SqliteInternals = {
  isInline: true,
  segmentBytes: 65_536,
  pace: { ms: 1e9, rows: 1e9 },
}

/** Jobs of a batch. */
export const JOBS = 8

/** The n-th batch: new jobs with leases, and the ends of those of the batch before. */
export function sampleBatch(n: number): WriteBatch {
  const numbers = Array.from({ length: JOBS }, (_, i) => (n - 1) * JOBS + i + 1)
  const before = n === 1 ? [] : numbers.map((m) => m - JOBS)
  return batchOf({
    newJobs: numbers.map((m) =>
      newJob(sampleJob(m), new Uint8Array(m % 7 === 0 ? 9_000 : 150).fill(m)),
    ),
    newLeases: numbers.map((m) => sampleLease(m)),
    jobs: before.map((m) => sampleJob(m, { status: 'COMPLETED', endedAt: START + m })),
    leases: before.map((m) => sampleLease(m, { status: 'COMPLETED' })),
    results: before.map((m) => sampleResult(m)),
    journal: numbers.map((m) => sampleEntry(m, { jobSeq: m })),
    failures: before.map((m) => sampleFailure(m, { message: `attempt of job ${m}` })),
    rounds: [sampleRound(n)],
    providers: [sampleProvider(1, { lastHeartbeat: START + n }), sampleProvider(n + 1)],
    shares: [{ kind: 'ai', caller: callerOf(n), finish: 2n ** 63n + BigInt(n) }],
    settlements: [sampleSettlement(n)],
    lanes: [{ lane: 'limits', key: `key ${n}`, value: new Uint8Array(40).fill(n) }],
    // Of the first batch only the results stay.
    pruneEndedBefore: n < 5 ? null : START + JOBS,
    meta: { last: String(n) },
  })
}

/** What tables hold after so many of these batches. */
export async function modelOf(batches: number): Promise<MemoryTables> {
  const model = new MemoryTables()
  for (let n = 1; n <= batches; n++) await model.apply(sampleBatch(n), n)
  return model
}

/** Opens a store that is closed when the test is over. */
export async function opened(path: string, internals = QUIET): Promise<SqliteStore> {
  return openSqliteStore(path, { durability: 'relaxed' }, internals)
}

export async function applySamples(store: SqliteStore, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n++) await applyLogged(store, sampleBatch(n), n)
}

/** Applies what the log has and the tables lack, as an engine does at its start. */
export async function replay(store: SqliteStore): Promise<void> {
  const { batch } = await store.tables.load()
  for await (const record of store.log.read(batch)) {
    await store.tables.apply(sampleBatch(record.batch), record.batch)
  }
}

/** The files of a store as they would be found if the process died now, at another path. */
export function imageOf(path: string): string {
  const image = tempPath()
  for (const name of filesOf(path)) {
    copyFileSync(join(dirname(path), name), image + name.slice(basename(path).length))
  }
  return image
}

/** The names of the files of a store that have something to say. */
export function filesOf(path: string): string[] {
  const name = basename(path)
  const ends = /^(|-wal|-log-\d+|\.sum)$/
  return existsSync(dirname(path))
    ? readdirSync(dirname(path)).filter(
        (file) => file.startsWith(name) && ends.test(file.slice(name.length)),
      )
    : []
}
