import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { crc32, gunzipSync } from 'node:zlib'
import { brokenSeq, type JobId } from '@fairlead/core'
import { NEW_STANDING } from '@fairlead/core/internal'
import { expect, it } from 'vitest'
import { jobIdOf } from '../src/conformance/sample-rows.ts'
import { openDatabase, told } from '../src/sqlite/driver.ts'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { tempPath } from './temp-store.ts'

const FOLDER = join(import.meta.dirname, 'from-4')

function fixture(name: string): Buffer {
  return gunzipSync(readFileSync(join(FOLDER, `${name}.gz`)))
}

/** What the version that wrote the file read from it. */
function expected() {
  return plainRows('rows.json')
}

function plainRows(name: string) {
  return JSON.parse(fixture(name).toString('utf8'), (_, value) => {
    if (value?.$ === 'n') return BigInt(value.v)
    return value?.$ === 'b' ? Uint8Array.from(Buffer.from(value.v, 'hex')) : value
  })
}

/** The fields that rows had not got then, by table. The provider of the file is ACTIVE. */
const NEW_FIELDS: Readonly<Record<string, object>> = {
  providers: { standing: { ...NEW_STANDING, admitted: true }, publicKey: null },
  results: { claim: null },
  jobs: { options: null, releasedAt: null },
  leases: { timeoutAt: null },
}

function withNewFields(table: string, rows: readonly object[]) {
  return rows.map((row) => ({ ...row, ...NEW_FIELDS[table] }))
}

function asNow(rows: readonly [string, object][]) {
  return rows.map(([table, row]) => [table, { ...row, ...NEW_FIELDS[table] }])
}

it('STORE-11: a store of version 4 is brought forward with all its rows, and the old file stays', async () => {
  const path = tempPath()
  writeFileSync(path, fixture('closed.db'))
  const told: number[][] = []
  const progress = (done: number, total: number) => told.push([done, total])
  const store = await openSqliteStore(path, { progress })
  const { rows: before4, timelines, snapshot } = expected()
  const rows = asNow(before4)
  expect(await store.read.everything()).toEqual(rows)
  const ids: JobId[] = [4, 5, 6].map(jobIdOf)
  expect(await Promise.all(ids.map((id) => store.read.timeline(id)))).toEqual(timelines)
  const { providers, jobs, leases } = snapshot
  expect(await store.tables.load()).toEqual({
    ...snapshot,
    providers: withNewFields('providers', providers),
    jobs: withNewFields('jobs', jobs),
    leases: withNewFields('leases', leases),
    batch: 0,
    due: new Uint8Array(),
  })
  const entries = await store.read.journal(0, 1_000)
  const [first] = entries
  expect(first?.seq).toBe(11)
  const before = { seq: 10, hash: first?.prevHash as string }
  expect(brokenSeq(entries, before)).toBeNull()
  expect(told).toEqual([[6, 6]])
  await store.close()
  expect(existsSync(`${path}.new-8`)).toBe(false)
  expect(readFileSync(`${path}.before-8`)).toEqual(fixture('closed.db'))
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const again = await openSqliteStore(path)
  expect(again.report).toMatchObject({ isNew: false, wasClean: true })
  expect(await again.read.everything()).toEqual(rows)
  await again.close()
})

/** A store that version 4 left when it was killed: 40 jobs in the tables, 28 in the log alone, with changes of both. */
function killedStore(): string {
  const path = tempPath()
  writeFileSync(path, fixture('killed.db'))
  writeFileSync(logOf(path), fixture('killed.db-log-a'))
  return path
}

function logOf(path: string): string {
  return `${path}-log-a`
}

function rowsAfterKill() {
  const { rows, timelines, ids } = plainRows('killed-rows.json')
  return { rows: asNow(rows), timelines, ids: ids as JobId[] }
}

/** The places of the batches in the log, the last of them where it ends. */
function placesIn(log: Buffer): number[] {
  const places = [0]
  for (let at = 0; log.readUInt32LE(at) !== 0; places.push(at)) {
    at += 16 + (log.readUInt32LE(at) & 0x7fff_ffff)
  }
  return places
}

async function refused(path: string) {
  const before = filesAt(path)
  const error = await openSqliteStore(path).catch((found: unknown) => found)
  expect(filesAt(path)).toEqual(before)
  return error
}

/** The files of a store that say something, by their names. */
function filesAt(path: string): Record<string, Buffer> {
  const names = readdirSync(dirname(path)).filter(
    (name) => !/(\.lock|\.holder|-wal|-shm)$/.test(name),
  )
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(dirname(path), name))]))
}

it('STORE-11: one that was killed has the rows of its log, too, and both stay beside it', async () => {
  const path = killedStore()
  const { rows, timelines, ids } = rowsAfterKill()
  const told: number[][] = []
  const store = await openSqliteStore(path, { progress: (...given) => told.push(given) })
  expect(await store.read.everything()).toEqual(rows)
  expect(await Promise.all(ids.map((id) => store.read.timeline(id)))).toEqual(timelines)
  expect(await store.problems()).toEqual([])
  expect(store.report.tornBytes).toBe(0)
  expect(told.at(-1)).toEqual([60, 60])
  await store.close()
  expect(existsSync(logOf(path))).toBe(false)
  expect(readFileSync(logOf(`${path}.before-8`))).toEqual(fixture('killed.db-log-a'))
  const again = await openSqliteStore(`${path}.before-8`)
  expect(await again.read.everything()).toEqual(rows)
  await again.close()
})

it('STORE-11: a torn end of its log is left out, and its bytes are told', async () => {
  const path = killedStore()
  const log = readFileSync(logOf(path))
  const [last, end] = placesIn(log).slice(-2) as [number, number]
  // Its second half was not written.
  writeFileSync(logOf(path), log.fill(0, Math.floor((last + end) / 2)))
  const store = await openSqliteStore(path)
  expect(store.report.tornBytes).toBe(end - last)
  const { meta } = await store.tables.load()
  expect(meta['batch']).toBe('16')
  expect(await store.problems()).toEqual([])
  await store.close()
})

it('STORE-11: damage in the middle of its log is refused with what is lost, and nothing changes', async () => {
  const path = killedStore()
  const log = readFileSync(logOf(path))
  const [, second = 0] = placesIn(log)
  log[second + 40] = (log[second + 40] as number) ^ 1
  writeFileSync(logOf(path), log)
  expect(await refused(path)).toMatchObject({
    message: expect.stringMatching(
      /batch \d+ of its log of rows is missing or damaged: .* is lost/,
    ),
    details: { reason: 'damaged' },
  })
})

it('STORE-11: a log of rows in another format is refused with a remedy', async () => {
  const path = killedStore()
  const log = readFileSync(logOf(path))
  const body = log.subarray(16, placesIn(log)[1])
  body[0] = 4
  const db = openDatabase(path)
  const [[id] = []] = told(db, 'SELECT tell(id) FROM store')
  db.close()
  log.writeUInt32LE(crc32(body, crc32(log.subarray(8, 16), crc32(id as Uint8Array))), 4)
  writeFileSync(logOf(path), log)
  expect(await refused(path)).toMatchObject({
    message: expect.stringMatching(/format 4, where format 5 can be read; start it once/),
    details: { reason: 'older_schema' },
  })
})
