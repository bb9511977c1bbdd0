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

  /** Writes all rows in their order; `cells` has those of all of them, `width` to a row. */
  write(cells: readonly SqlValue[], width: number): void {
    const most = MANY * width
    let at = 0
    for (; at + most <= cells.length; at += most) this.#many.run(...cells.slice(at, at + most))
    for (; at < cells.length; at += width) this.#one.run(...cells.slice(at, at + width))
  }
}
