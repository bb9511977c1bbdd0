import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { AnyRow } from '@fairlead/core/internal'
import { expect, it } from 'vitest'
import { openDatabase } from '../src/sqlite/driver.ts'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { modelOf, QUIET, replay } from './sample-store.ts'
import { tempPath } from './temp-store.ts'

const BATCHES = 6

/** A store that a version wrote: six sample batches, then closed or killed. The killed one has the last batch in its log only. */
function oldStore(how: 'closed' | 'killed', version = 5): string {
  const path = tempPath()
  const folder = join(import.meta.dirname, `from-${version}`)
  for (const name of readdirSync(folder)) {
    const [, end] = new RegExp(`^${how}\\.db(.*)\\.gz$`).exec(name) ?? []
    if (end !== undefined) writeFileSync(path + end, gunzipSync(readFileSync(join(folder, name))))
  }
  return path
}

function filesBeside(path: string): string[] {
  const name = basename(path)
  return readdirSync(dirname(path))
    .filter((file) => file.startsWith(name))
    .map((file) => file.slice(name.length))
    .sort()
}

/** Without what version 5 did not have: settlements, and the standing of providers. */
function asThen(rows: readonly AnyRow[]) {
  return rows
    .filter(([table]) => !table.startsWith('settlement'))
    .map(([table, row]) => [table, table === 'providers' ? { ...row, standing: null } : row])
}

async function everyRow() {
  return asThen(await (await modelOf(BATCHES)).read.everything())
}

it('STORE-11: a store of version 5 that was closed gets its checksums, and the old file stays', async () => {
  const path = oldStore('closed')
  const before = readFileSync(path)
  const told: number[][] = []
  const progress = (done: number, total: number) => told.push([done, total])
  const store = await openSqliteStore(path, { progress }, QUIET)
  expect(store.report).toMatchObject({ isNew: false, wasClean: true, tablesBatch: BATCHES })
  expect(asThen(await store.read.everything())).toEqual(await everyRow())
  expect(await store.problems()).toEqual([])
  // Seven of the first eight were deleted.
  expect(told).toEqual([[41, 41]])
  await store.close()
  expect(readFileSync(`${path}.before-8`)).toEqual(before)
  expect(existsSync(`${path}.new-8`)).toBe(false)
})

it('STORE-11: one that was killed goes on from its log, and stays beside it with that log', async () => {
  const path = oldStore('killed')
  const store = await openSqliteStore(path, {}, QUIET)
  expect(store.report).toMatchObject({ wasClean: false, tablesBatch: 5, logBatch: BATCHES })
  await replay(store)
  expect(asThen(await store.read.everything())).toEqual(await everyRow())
  expect(await store.problems()).toEqual([])
  await store.close()
  const kept = filesBeside(path).filter((end) => end.startsWith('.before-8'))
  expect(kept).toEqual(['.before-8', '.before-8-log-1', '.before-8-log-2'])
})

it('STORE-11: what was kept is the same store once more', async () => {
  const path = oldStore('killed')
  await (await openSqliteStore(path, {}, QUIET)).close()
  const store = await openSqliteStore(`${path}.before-8`, {}, QUIET)
  await replay(store)
  expect(asThen(await store.read.everything())).toEqual(await everyRow())
  await store.close()
})

it('STORE-11: a damaged payload of version 5 is refused before anything changes', async () => {
  const path = oldStore('closed')
  const db = openDatabase(path)
  db.exec("UPDATE payloads SET payload = x'00' WHERE job = 20")
  db.close()
  const before = readFileSync(path)
  await expect(openSqliteStore(path, {}, QUIET)).rejects.toMatchObject({
    code: 'StoreUnavailable',
    message: expect.stringMatching(/1 payloads or results have a wrong checksum.*last backup/),
    details: { reason: 'damaged' },
  })
  expect(readFileSync(path)).toEqual(before)
  expect(filesBeside(path).filter((end) => /new-8|before-8/.test(end))).toEqual([])
})

it.each(['closed', 'killed'] as const)(
  'STORE-11: a store of version 7 that was %s keeps every row, and has sums of the new columns',
  async (how) => {
    const path = oldStore(how, 7)
    const store = await openSqliteStore(path, {}, QUIET)
    await replay(store)
    expect(await store.read.everything()).toEqual(await (await modelOf(BATCHES)).read.everything())
    expect(await store.problems()).toEqual([])
    await store.close()
    expect(filesBeside(path)).toContain('.before-8')
  },
)

it('STORE-11: a row of version 7 that does not fit its checksum is refused before anything changes', async () => {
  const path = oldStore('closed', 7)
  const db = openDatabase(path)
  db.exec('UPDATE jobs SET retries = retries + 1 WHERE seq = 20')
  db.close()
  const before = readFileSync(path)
  await expect(openSqliteStore(path, {}, QUIET)).rejects.toMatchObject({
    message: expect.stringMatching(/in table jobs, the row with seq 20 does not fit its checksum/),
    details: { reason: 'damaged' },
  })
  expect(readFileSync(path)).toEqual(before)
  expect(filesBeside(path).filter((end) => /new-8|before-8/.test(end))).toEqual([])
})
