import type { SqlValue, Statement } from './driver.ts'
import type { Statements } from './statements.ts'

/** Rows of the statements whose names end so. */
const MANY = 20

/**
 * Writes rows of one kind, twenty to a statement. A call into SQLite costs as much as the row that it
 * writes, so this is worth a third of a commit; more rows to a statement gain nothing.
 */
export class Bulk {
  readonly #one: Statement
  readonly #many: Statement

  /** `many` does for twenty rows what `one` does for one. */
  constructor(
    statements: Statements,
    { one, many }: { readonly one: string; readonly many: string },
  ) {
    this.#one = statements.get(one)
    this.#many = statements.get(many)
  }

  /** Writes all rows in their order and returns how many it changed. */
  write(rows: readonly (readonly SqlValue[])[]): number {
    const rest = rows.length % MANY
    let changes = 0
    for (let at = 0; at < rows.length - rest; at += MANY) {
      const params: SqlValue[] = []
      for (const row of rows.slice(at, at + MANY)) for (const value of row) params.push(value)
      changes += Number(this.#many.run(...params).changes)
    }
    for (const row of rows.slice(rows.length - rest))
      changes += Number(this.#one.run(...row).changes)
    return changes
  }
}
