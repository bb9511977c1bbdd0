import { expect, it } from 'vitest'
import { batchOf } from '../src/conformance/sample-rows.ts'
import { ROW_TYPES } from '../src/rows/rows.ts'
import { openDatabase, type SqlValue, told } from '../src/sqlite/driver.ts'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { applySamples, imageOf, opened, QUIET } from './sample-store.ts'
import { tempPath } from './temp-store.ts'

const BATCHES = 6

async function closedStore(): Promise<string> {
  const path = tempPath()
  const store = await opened(path)
  await applySamples(store, 1, BATCHES)
  await store.close()
  return path
}

function change(path: string, ...statements: readonly string[]): void {
  const db = openDatabase(path)
  // The triggers and CHECKs guard against the program, not against a disk.
  db.exec('PRAGMA ignore_check_constraints = ON')
  for (const sql of statements) db.exec(sql)
  db.close()
}

/** The reads that met the damage, or null. */
async function refusalOf(path: string): Promise<unknown> {
  try {
    const store = await openSqliteStore(path, {}, QUIET)
    try {
      await store.tables.load()
      await store.read.everything()
      return null
    } finally {
      await store.close().catch(() => {})
    }
  } catch (error) {
    return error
  }
}

/** The literals of a value with one bit changed, each another one. */
function flippedOnce(value: SqlValue): string[] {
  if (value === null) return ['0', "x''"]
  if (typeof value === 'number') return [String(value ^ 1), String(value + 2 ** 32), 'NULL']
  const bytes = Buffer.from(value as string | Uint8Array)
  const at = Math.floor(bytes.length / 2)
  if (bytes.length === 0) return ["x'00'"]
  bytes[at] = (bytes[at] as number) ^ 1
  const literal = `x'${bytes.toString('hex')}'`
  return [typeof value === 'string' ? `CAST(${literal} AS TEXT)` : literal]
}

const DAMAGED = { code: 'StoreUnavailable', details: { reason: 'damaged' } }

const JOURNAL = {
  table: 'journal',
  columns: ['seq', 'at', 'actor', 'action', 'subject', 'details', 'hash'].map((column) => ({
    column,
  })),
  sums: [] as readonly { readonly column: string }[],
}

it.each([...ROW_TYPES, JOURNAL])(
  'STORE-21: a bit that changes in any value of $table is told when the value is read',
  async ({ table, columns, sums }) => {
    const path = await closedStore()
    const names = [...columns, ...sums].map(({ column }) => column)
    const db = openDatabase(path)
    const [cells = []] = told(
      db,
      `SELECT tell(${names.join(', ')}) FROM ${table} ORDER BY 1 LIMIT 1`,
    )
    const declared = new Map(
      told(db, `SELECT tell(name, "notnull") FROM pragma_table_info('${table}')`) as [
        string,
        number,
      ][],
    )
    db.close()
    const key = `${names[0]} = (SELECT ${names[0]} FROM ${table} ORDER BY 1 LIMIT 1)`
    const silent: string[] = []
    let heard = 0
    for (const [i, name] of names.entries()) {
      for (const literal of flippedOnce(cells[i] as SqlValue)) {
        if (literal === 'NULL' && declared.get(name) === 1) continue
        const copy = imageOf(path)
        try {
          change(copy, `UPDATE ${table} SET ${name} = ${literal} WHERE ${key}`)
        } catch {
          // A type that its column does not take cannot come from one bit that SQLite would read.
          continue
        }
        const refusal = await refusalOf(copy)
        if (refusal === null) silent.push(`${name} = ${literal}`)
        else expect(refusal).toMatchObject(DAMAGED)
        heard++
      }
    }
    expect(silent).toEqual([])
    expect(heard).toBeGreaterThanOrEqual(names.length)
  },
  60_000,
)

const STATE = 'status, provider_id, attempt, retries, ended_at, reason, state_sum'

it.each([
  [
    'the state of a job',
    `UPDATE jobs SET (${STATE}) = (SELECT ${STATE} FROM jobs WHERE seq = 20) WHERE seq = 21`,
  ],
  [
    'a payload',
    'UPDATE payloads SET (payload, sum) = (SELECT payload, sum FROM payloads WHERE job = 20) WHERE job = 21',
  ],
  [
    'a share',
    "UPDATE shares SET (finish, sum) = (SELECT finish, sum FROM shares LIMIT 1) WHERE finish LIKE '%3'",
  ],
  [
    'an entry',
    'UPDATE journal SET (subject, details) = (SELECT actor, details FROM journal WHERE seq = 20) WHERE seq = 21',
  ],
])('STORE-21: %s that comes into another row with its checksum is told', async (_, sql) => {
  const path = await closedStore()
  change(path, sql)
  expect(await refusalOf(path)).toMatchObject(DAMAGED)
})

it('STORE-21: a row that somebody changes by hand is refused while the store is open, until it is changed back', async () => {
  const path = await closedStore()
  const store = await opened(path)
  await store.tables.sync()
  const [job] = await store.read.jobs({ afterSeq: 20, limit: 1 })
  if (job === undefined) throw new Error('there is no job 21')
  change(path, 'UPDATE jobs SET retries = 7 WHERE seq = 21')
  await expect(store.read.job(job.id)).rejects.toMatchObject({
    message: expect.stringMatching(
      /table jobs, the row with seq 21 .*changed it by hand, bring back the old value/,
    ),
    ...DAMAGED,
  })
  expect(await store.problems()).toEqual([
    'in table jobs, the row with seq 21 does not fit its checksum',
  ])
  change(path, `UPDATE jobs SET retries = ${job.retries} WHERE seq = 21`)
  expect(await store.read.job(job.id)).toEqual(job)
  await store.close()
})

it('STORE-21: times that are moved back have checksums that fit, and a damaged row is not moved', async () => {
  const path = await closedStore()
  const store = await opened(path)
  const byMs = 1_000
  const before = await store.read.jobs({ afterSeq: 0, limit: 100 })
  await store.moveTimes({ afterMs: 0, byMs }, batchOf({}))
  const after = await store.read.jobs({ afterSeq: 0, limit: 100 })
  expect(after.map(({ enqueueTs }) => enqueueTs + byMs)).toEqual(
    before.map(({ enqueueTs }) => enqueueTs),
  )
  expect(await store.problems()).toEqual([])
  change(path, 'UPDATE leases SET round = 9 WHERE job = 21')
  await expect(store.moveTimes({ afterMs: 0, byMs }, batchOf({}))).rejects.toMatchObject(DAMAGED)
  expect(await store.read.jobs({ afterSeq: 0, limit: 100 })).toEqual(after)
  await store.close()
})
