import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hasEnded, isLive, JOB_STATUSES, LEASE_STATUSES, PROVIDER_STATUSES } from '@fairlead/core'
import { MATCH_ORDERS } from '@fairlead/core/internal'
import { expect, it } from 'vitest'
import { type Column, JOB_CHANGE, LEASE_CHANGE, ROW_TYPES } from '../src/rows/rows.ts'
import { openDatabase, told } from '../src/sqlite/driver.ts'
import { makeTables } from '../src/sqlite/migrate.ts'

const folder = join(import.meta.dirname, '..', 'src', 'sqlite')
const file = openDatabase(':memory:')
makeTables(file)
const queries = readAll('queries')

/** The lists of words that a column is compared with, in order of appearance. */
function wordsOf(sql: string, column: string): string[][] {
  const lists = sql.matchAll(new RegExp(`\\b${column} IN\\s*\\(([^)]*)\\)`, 'g'))
  return [...lists].map(([, list = '']) =>
    [...list.matchAll(/'([\w-]+)'/g)].map(([, word = '']) => word),
  )
}

/** The statement that makes a table or index, after all migrations. */
function tableOf(name: string): string {
  const [row] = told(file, `SELECT tell(sql) FROM sqlite_schema WHERE name = '${name}'`)
  return String(row?.[0])
}

it('STORE-6: the words of the CHECKs are those of the state tables', () => {
  const liveJobs = JOB_STATUSES.filter((status) => !hasEnded(status))
  expect(wordsOf(tableOf('jobs'), 'status')).toEqual([[...JOB_STATUSES], liveJobs])
  expect(wordsOf(tableOf('leases'), 'status')).toEqual([[...LEASE_STATUSES]])
  expect(wordsOf(tableOf('providers'), 'status')).toEqual([[...PROVIDER_STATUSES]])
  expect(wordsOf(tableOf('rounds'), 'match_order')).toEqual([[...MATCH_ORDERS]])
})

it('STORE-5: live leases are the same in the index, in the queries and in the state table', () => {
  const index = tableOf('live_leases')
  const live = LEASE_STATUSES.filter(isLive)
  expect(wordsOf(index, 'status')).toEqual([live])
  const update = queries.find(({ name }) => name === 'update-lease')
  expect(wordsOf(update?.sql ?? '', 'status')).toEqual([live])
})

/** The columns of a table as SQLite made it. */
function columnsOf(table: string): string[] {
  const columns = told(file, `SELECT tell(name) FROM pragma_table_info('${table}')`)
  return columns.map(([name]) => String(name))
}

const FOR_INDEXES: Readonly<Record<string, readonly string[]>> = {
  jobs: ['id48', 'caller48', 'key_hash'],
  leases: ['id48'],
}

it.each(ROW_TYPES)(
  'STORE-1: the columns of $table are those of rows.ts, and the sums of all of them',
  ({ table, columns, sums }) => {
    const names = columns.map(({ column }) => column)
    const more = [...(FOR_INDEXES[table] ?? []), ...sums.map(({ column }) => column)]
    expect(columnsOf(table).sort()).toEqual([...names, ...more].sort())
    const covered = sums.flatMap(({ from, to }) => names.slice(from, to))
    expect(covered).toEqual(names)
  },
)

it.each([
  ['update-job', JOB_CHANGE],
  ['update-lease', LEASE_CHANGE],
] as const)(
  'STORE-1: the parameters of %s.sql are the columns of a change, in their order',
  (name, type) => {
    const sql = queries.find((query) => query.name === name)?.sql ?? ''
    const params = [...sql.matchAll(/(\w+) = \?(\d+)/g)].map(([, column = '', n]) => ({
      column,
      n: Number(n),
    }))
    const columns = [...(type.columns as readonly Column[]), ...type.sums].map(
      ({ column }) => column,
    )
    // The status is compared, too.
    for (const { column, n } of params) expect(columns[n - 1]).toBe(column)
    expect(new Set(params.map(({ n }) => n)).size).toBe(columns.length)
  },
)

it.each(queries)('query $name tells its rule, its inputs and its result', ({ name, sql }) => {
  expect(sql).toMatch(new RegExp(`^-- ${name}: .*\\n(-- .*\\n)*-- in: .*(\\n-- | {2,})out: `))
  expect(withoutComments(sql)).not.toContain(';')
})

function withoutComments(sql: string): string {
  return sql.replaceAll(/^\s*--.*\n/gm, '')
}

function readAll(kind: 'migrations' | 'queries'): { name: string; sql: string }[] {
  const files = readdirSync(join(folder, kind)).filter((file) => file.endsWith('.sql'))
  return files.map((file) => ({
    name: file.replace(/\.sql$/, ''),
    sql: readFileSync(join(folder, kind, file), 'utf8'),
  }))
}
