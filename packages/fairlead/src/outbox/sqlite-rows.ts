import { invalidParams } from '@fairlead/core/errors'
import { hasTransaction, type SqliteDatabase } from './clients.ts'
import { type Moved, type RowSource, refusalText, type WaitingRow } from './row-source.ts'
import { SQLITE } from './statements.ts'
import { tableMissing } from './table-missing.ts'
import { untilWoken } from './until-woken.ts'

/**
 * The outbox in SQLite. A lock for the time of a call would keep every writer of the file waiting, so there is none:
 * two relays may send the same row, and its key makes one job of it.
 */
export class SqliteRows implements RowSource {
  readonly #db: SqliteDatabase
  readonly #end: () => void

  constructor(db: SqliteDatabase, end: () => void = () => {}) {
    if (hasTransaction(db) === null) {
      const why = 'a database that tells whether a transaction is open; give its path instead'
      throw invalidParams('from', why)
    }
    this.#db = db
    this.#end = end
  }

  async turn(
    limit: number,
    move: (rows: readonly WaitingRow[]) => Promise<Moved>,
  ): Promise<number | null> {
    // The rows of a transaction that is open may never be committed.
    if (hasTransaction(this.#db)) return null
    const rows = this.#read(limit)
    if (rows.length === 0) return 0
    const { answered, refused } = await move(rows)
    if (answered.length > 0) {
      this.#db.prepare(SQLITE.remove).run(JSON.stringify(answered.map(Number)))
    }
    if (refused.length > 0) {
      const given = refused.map(({ id, error }) => [Number(id), refusalText(error)])
      this.#db.prepare(SQLITE.refuse).run(JSON.stringify(given))
    }
    return rows.length
  }

  /** A row stays to be seen until it is answered. */
  async isEmpty(): Promise<boolean> {
    return true
  }

  /** The file tells nobody of new rows. */
  wait(ms: number, signal: AbortSignal): Promise<void> {
    return untilWoken(ms, signal)
  }

  async close(): Promise<void> {
    this.#end()
  }

  #read(limit: number): WaitingRow[] {
    try {
      const rows = this.#db.prepare(SQLITE.take).all(limit) as Stored[]
      return rows.map(({ id, idempotency_key, request }) => {
        return { id: String(id), key: idempotency_key, request }
      })
    } catch (error) {
      throw (error as Error).message.includes('no such table') ? tableMissing(error) : error
    }
  }
}

interface Stored {
  readonly id: number
  readonly idempotency_key: string
  readonly request: string
}
