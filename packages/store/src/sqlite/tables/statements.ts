import { readdirSync, readFileSync } from 'node:fs'
import { type Database, prepare, type Statement } from '../driver.ts'

const FOLDER = new URL('../../../src/sqlite/queries/', import.meta.url)

/** Those that tell are not prepared (see driver.ts), and one uses a function that only a restore has. */
const UNPREPARED = /^(tell-|renew-key-hashes)/

/** The text of each query by its name, read once. */
const QUERIES = new Map(
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.sql') && !UNPREPARED.test(name))
    .map((name) => [name.slice(0, -4), readFileSync(new URL(name, FOLDER), 'utf8')]),
)

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
