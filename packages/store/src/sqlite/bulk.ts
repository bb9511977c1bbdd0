import type { Columns, SqlValue, Statement } from './driver.ts'
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

/** Looks for many rows by a query that takes twenty; the last is asked for again until it has so many. */
export function findMany(
  statements: Statements,
  name: string,
  params: readonly SqlValue[],
  width = 1,
): Columns[] {
  const found: Columns[] = []
  for (let at = 0; at < params.length; at += MANY * width) {
    const asked = params.slice(at, at + MANY * width)
    const last = asked.slice(-width)
    while (asked.length < MANY * width) asked.push(...last)
    for (const columns of statements.get(name).all(...asked)) found.push(columns)
  }
  return found
}
