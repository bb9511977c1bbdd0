import { type Database, prepare, type Statement } from '../driver.ts'
import { madeQueries } from './made-queries.ts'
import { queryNames, textOf } from './query-texts.ts'

/** Those that tell are not prepared (see driver.ts), one uses a function that only a restore has, and one is made into others. */
const UNPREPARED = /^(tell-.*|renew-key-hashes|list-jobs)$/

/** The text of each query by its name, read once. */
const QUERIES = new Map([
  ...queryNames()
    .filter((name) => !UNPREPARED.test(name))
    .map((name): [string, string] => [name, textOf(name)]),
  ...madeQueries(),
])

/** Prepared statements by their names, each prepared once. */
export class Statements {
  readonly #prepared: ReadonlyMap<string, Statement>

  constructor(db: Database) {
    this.#prepared = new Map([...QUERIES].map(([name, sql]) => [name, prepare(db, sql)]))
  }

  get(name: string): Statement {
    const statement = this.#prepared.get(name)
    if (statement === undefined) throw new Error(`there is no query ${name}`)
    return statement
  }
}
