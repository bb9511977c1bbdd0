import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { brokenSeq, type JobId } from '@fairlead/core'
import { NEW_STANDING } from '@fairlead/core/internal'
import { expect, it } from 'vitest'
import { jobIdOf } from '../src/conformance/sample-rows.ts'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { tempPath } from './temp-store.ts'

const FOLDER = join(import.meta.dirname, 'from-4')

function fixture(name: string): Buffer {
  return gunzipSync(readFileSync(join(FOLDER, `${name}.gz`)))
}

/** What the version that wrote the file read from it. */
function expected() {
  return JSON.parse(fixture('rows.json').toString('utf8'), (_, value) => {
    if (value?.$ === 'n') return BigInt(value.v)
    return value?.$ === 'b' ? Uint8Array.from(Buffer.from(value.v, 'hex')) : value
  })
}

/** The fields that rows had not got then, by table. The provider of the file is ACTIVE. */
const NEW_FIELDS: Readonly<Record<string, object>> = {
  providers: { standing: { ...NEW_STANDING, admitted: true }, publicKey: null },
  results: { claim: null },
}

it('STORE-11: a store of version 4 is brought forward with all its rows, and the old file stays', async () => {
  const path = tempPath()
  writeFileSync(path, fixture('closed.db'))
  const told: number[][] = []
  const progress = (done: number, total: number) => told.push([done, total])
  const store = await openSqliteStore(path, { progress })
  const { rows: before4, timelines, snapshot } = expected()
  const rows = before4.map(([table, row]: [string, object]) => [
    table,
    { ...row, ...NEW_FIELDS[table] },
  ])
  expect(await store.read.everything()).toEqual(rows)
  const ids: JobId[] = [4, 5, 6].map(jobIdOf)
  expect(await Promise.all(ids.map((id) => store.read.timeline(id)))).toEqual(timelines)
  const providers = snapshot.providers.map((row: object) => ({
    ...row,
    ...NEW_FIELDS['providers'],
  }))
  expect(await store.tables.load()).toEqual({
    ...snapshot,
    providers,
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
  expect(existsSync(`${path}.new-7`)).toBe(false)
  expect(readFileSync(`${path}.before-7`)).toEqual(fixture('closed.db'))
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const again = await openSqliteStore(path)
  expect(again.report).toMatchObject({ isNew: false, wasClean: true })
  expect(await again.read.everything()).toEqual(rows)
  await again.close()
})

it('STORE-11: one that was not stopped in order is refused, and left as it was', async () => {
  const path = tempPath()
  writeFileSync(path, fixture('closed.db'))
  writeFileSync(`${path}-log-a`, 'rows')
  await expect(openSqliteStore(path)).rejects.toMatchObject({
    message: expect.stringMatching(/not stopped in order; start it once with Fairlead 0.1/),
    details: { reason: 'older_schema' },
  })
  expect(readFileSync(path)).toEqual(fixture('closed.db'))
})
