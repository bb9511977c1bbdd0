import { readdirSync, readFileSync } from 'node:fs'
import { ROW_TYPES, type RowType } from '../../rows/rows.ts'

const FOLDER = new URL('../../../src/sqlite/queries/', import.meta.url)

/** The names of all queries that have a file. */
export function queryNames(): string[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.sql'))
    .map((name) => name.slice(0, -4))
}

/**
 * The text of a query. `{leases}` in it stands for the columns of a row of leases and its sums, in their order, and other words in
 * braces for what is given.
 */
export function textOf(query: string, given: Readonly<Record<string, string>> = {}): string {
  const text = readFileSync(new URL(`${query}.sql`, FOLDER), 'utf8').replaceAll(/^--.*\n/gm, '')
  return text.replaceAll(/\{(\w+)\}/g, (_, word: string) => {
    const type = ROW_TYPES.find(({ table }) => table === word)
    const found = type === undefined ? given[word] : columnsOf(type).join(', ')
    if (found === undefined) throw new Error(`queries/${query}.sql: nothing stands for {${word}}`)
    return found
  })
}

/** The columns of a row and its sums, as reads take them. */
export function columnsOf({ table, columns, sums }: RowType<unknown>): string[] {
  return [...columns, ...sums].map(({ column }) => `${table}.${column}`)
}
