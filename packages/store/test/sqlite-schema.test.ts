import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hasEnded, isLive, JOB_STATUSES, LEASE_STATUSES, PROVIDER_STATUSES } from '@fairlead/core'
import { MATCH_ORDERS } from '@fairlead/core/internal'
import { expect, it } from 'vitest'

const folder = join(import.meta.dirname, '..', 'src', 'sqlite')
const schema = readAll('migrations')
  .map(({ sql }) => sql)
  .join('\n')
const queries = readAll('queries')

/** The lists of words that a column is compared with, in order of appearance. */
function wordsOf(sql: string, column: string): string[][] {
  const lists = sql.matchAll(new RegExp(`\\b${column} IN\\s*\\(([^)]*)\\)`, 'g'))
  return [...lists].map(([, list = '']) =>
    [...list.matchAll(/'([\w-]+)'/g)].map(([, word = '']) => word),
  )
}

/** The last statement that makes a table or index: a migration may have built it anew. */
function madeBy(start: string, end: string): string {
  const found = schema.match(new RegExp(`${start}[\\s\\S]*?${end}`, 'g')) ?? []
  return found.at(-1) ?? ''
}

function tableOf(name: string): string {
  return madeBy(`CREATE TABLE ${name} \\(`, '\\n\\)')
}

it('STORE-6: the words of the CHECKs are those of the state tables', () => {
  const liveJobs = JOB_STATUSES.filter((status) => !hasEnded(status))
  expect(wordsOf(tableOf('jobs'), 'status')).toEqual([[...JOB_STATUSES], liveJobs])
  expect(wordsOf(tableOf('leases'), 'status')).toEqual([[...LEASE_STATUSES]])
  expect(wordsOf(tableOf('providers'), 'status')).toEqual([[...PROVIDER_STATUSES]])
  expect(wordsOf(tableOf('rounds'), 'match_order')).toEqual([[...MATCH_ORDERS]])
})

it('STORE-5: live leases are the same in the index, in the queries and in the state table', () => {
  const index = madeBy('CREATE UNIQUE INDEX live_leases', ';')
  const live = LEASE_STATUSES.filter(isLive)
  expect(wordsOf(index, 'status')).toEqual([live])
  const changes = queries.filter(({ name }) => /^update-leases?\b/.test(name))
  expect(changes.map(({ sql }) => wordsOf(sql, 'status'))).toEqual(changes.map(() => [live]))
  expect(changes.length).toBeGreaterThan(0)
})

it.each(queries)('$name.sql tells its rule, its inputs and its result', ({ name, sql }) => {
  expect(sql).toMatch(new RegExp(`^-- ${name}: .*\\n(-- .*\\n)*-- in: .*(\\n-- | {2,})out: `))
  expect(withoutComments(sql)).not.toContain(';')
})

const siblings = queries.flatMap((one) =>
  queries
    .filter(({ name }) => name === `${one.name}-20` || name === `${one.name}s-20`)
    .map((many) => ({ one, many })),
)

it.each(siblings)('$many.name.sql does for twenty rows what $one.name.sql does for one', (pair) => {
  const one = withoutComments(pair.one.sql)
  const tuple = one.match(/VALUES (\(.*\))/)?.[1]
  const twenty = `VALUES\n${Array.from({ length: 20 }, () => `  ${tuple}`).join(',\n')}`
  expect(withoutComments(pair.many.sql)).toBe(one.replace(`VALUES ${tuple}`, twenty))
})

function withoutComments(sql: string): string {
  return sql.replaceAll(/^\s*--.*\n/gm, '')
}

function readAll(kind: 'migrations' | 'queries'): { name: string; sql: string }[] {
  return readdirSync(join(folder, kind)).map((file) => ({
    name: file.replace(/\.sql$/, ''),
    sql: readFileSync(join(folder, kind, file), 'utf8'),
  }))
}
