import { type Database, prepare, type SqlValue, type Statement } from '../driver.ts'

/** One statement with so many rows takes two thirds of the time of one for each row. More gain nothing. */
const ROWS = 16

export type Conflict = 'ROLLBACK' | 'IGNORE' | 'REPLACE'

/**
 * Inserts many rows. Its statements are made from a table and its columns, because they say nothing else, and a list of
 * sixteen times thirty question marks in a file would say less. A violated constraint ends the whole transaction:
 * then SQLite need not keep copies of the pages that a statement changes.
 */
export class Bulk {
  readonly #one: Statement
  readonly #many: Statement
  readonly #width: number

  constructor(
    db: Database,
    table: string,
    columns: readonly string[],
    conflict: Conflict = 'ROLLBACK',
  ) {
    const start = `INSERT OR ${conflict} INTO ${table} (${columns.join(', ')}) VALUES `
    const row = `(${columns.map(() => '?').join(', ')})`
    this.#one = prepare(db, start + row)
    this.#many = prepare(db, start + Array.from({ length: ROWS }, () => row).join(', '))
    this.#width = columns.length
  }

  /** Writes the cells of any number of rows. Returns how many rows were inserted. */
  write(cells: readonly SqlValue[]): number {
    const width = this.#width
    const together = ROWS * width
    let at = 0
    let inserted = 0
    for (; at + together <= cells.length; at += together) {
      inserted += Number(this.#many.run(...cells.slice(at, at + together)).changes)
    }
    for (; at < cells.length; at += width) {
      inserted += Number(this.#one.run(...cells.slice(at, at + width)).changes)
    }
    return inserted
  }
}
