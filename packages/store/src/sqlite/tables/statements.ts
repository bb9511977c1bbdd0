import { readdirSync, readFileSync } from 'node:fs'
import { type Database, prepare, type Statement } from '../driver.ts'
import { ROW_TYPES, type RowType } from '../rows/rows.ts'

const FOLDER = new URL('../../../src/sqlite/queries/', import.meta.url)

/** Those that tell are not prepared (see driver.ts), and one uses a function that only a restore has. */
const UNPREPARED = /^(tell-|renew-key-hashes)/

/** The text of each query by its name, read once. */
const QUERIES = new Map(
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.sql') && !UNPREPARED.test(name))
    .map((name) => [name.slice(0, -4), textOf(name.slice(0, -4))]),
)

/** The text of a query. `{leases}` in it stands for the columns of a row of leases and its sums, in their order. */
export function textOf(query: string): string {
  const text = readFileSync(new URL(`${query}.sql`, FOLDER), 'utf8')
  return text.replaceAll(/\{(\w+)\}/g, (_, table: string) => {
    const type = ROW_TYPES.find((one) => one.table === table)
    if (type === undefined) throw new Error(`queries/${query}.sql: there is no table ${table}`)
    return columnsOf(type).join(', ')
  })
}

/** The columns of a row and its sums, as reads take them. */
export function columnsOf({ table, columns, sums }: RowType<unknown>): string[] {
  return [...columns, ...sums].map(({ column }) => `${table}.${column}`)
}

/** Prepared statements by the names of their files, each prepared once. */
export class Statements {
  readonly #prepared: ReadonlyMap<string, Statement>

  constructor(db: Database) {
    this.#prepared = new Map([...QUERIES].map(([name, sql]) => [name, prepare(db, sql)]))
  }

  get(name: string): Statement {
    const statement = this.#prepared.get(name)
    if (statement === undefined) throw new Error(`there is no queries/${name}.sql`)
    return statement
  }
}
