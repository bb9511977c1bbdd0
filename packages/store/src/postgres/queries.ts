import { madeQueries } from './made-queries.ts'
import { type Query, queryNames, queryOf, textOf } from './query-texts.ts'

/** Files that others are made of. */
const PATTERNS = new Set(['list-jobs', 'update-jobs', 'update-leases'])

/** All queries by their names, read once. */
const QUERIES: ReadonlyMap<string, Query> = new Map(
  [
    ...queryNames()
      .filter((name) => !PATTERNS.has(name))
      .map((name): [string, string] => [name, textOf(name)]),
    ...madeQueries(),
  ].map(([name, text]) => [name, queryOf(name, text)]),
)

export function queryNamed(name: string): Query {
  const query = QUERIES.get(name)
  if (query === undefined) throw new Error(`there is no query ${name}`)
  return query
}
