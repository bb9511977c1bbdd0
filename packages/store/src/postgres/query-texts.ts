import { readdirSync, readFileSync } from 'node:fs'
import { ROW_TYPES, type RowType } from '../rows/rows.ts'

/** A statement: prepared on each connection that uses it, under its name. */
export interface Query {
  readonly name: string
  readonly text: string
  /** Of the parameters, in their order. */
  readonly params: readonly string[]
}

const FOLDER = new URL('../../src/postgres/queries/', import.meta.url)

/** The names of all queries that have a file. */
export function queryNames(): string[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.sql'))
    .map((name) => name.slice(0, -4))
}

/**
 * The text of a query. `{leases}` in it stands for the columns of a row of leases in their order, and other words in braces for
 * what is given.
 */
export function textOf(query: string, given: Readonly<Record<string, string>> = {}): string {
  const text = readFileSync(new URL(`${query}.sql`, FOLDER), 'utf8').replaceAll(/^ *--.*\n/gm, '')
  return text.replaceAll(/\{(\w+)\}/g, (_, word: string) => {
    const type = ROW_TYPES.find(({ table }) => table === word)
    const found = type === undefined ? given[word] : columnsOf(type).join(', ')
    if (found === undefined) throw new Error(`queries/${query}.sql: nothing stands for {${word}}`)
    return found
  })
}

/** The columns of a row, as reads take them. SQLite's checksums are none of them: PostgreSQL has its own, of pages. */
export function columnsOf({ table, columns }: RowType<unknown>): string[] {
  return columns.map(({ column }) => `${table}.${column}`)
}

/** A text with named parameters, `@limit`, as a query. */
export function queryOf(name: string, text: string): Query {
  const params: string[] = []
  const numbered = text.replaceAll(/@(\w+)/g, (_, param: string) => {
    if (!params.includes(param)) params.push(param)
    return `$${params.indexOf(param) + 1}`
  })
  return { name, text: numbered, params }
}
