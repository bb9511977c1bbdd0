import type { Columns } from './driver.ts'
import {
  jobRow,
  journalRow,
  leaseRow,
  metaRow,
  payloadRow,
  providerRow,
  resultRow,
  roundRow,
  shareRow,
} from './rows.ts'
import type { Ask } from './sqlite-reads.ts'

type Row = Readonly<Record<string, unknown>>

/** The tables in the order in which they are listed (STORE-9). */
const TABLES: readonly (readonly [table: string, row: (columns: Columns) => object])[] = [
  ['jobs', jobRow],
  ['payloads', payloadRow],
  ['leases', leaseRow],
  ['providers', providerRow],
  ['results', resultRow],
  ['shares', shareRow],
  ['rounds', roundRow],
  ['journal', journalRow],
  ['meta', metaRow],
]

/** Every row of every table. To be read in one go: a commit in between may or may not be seen. */
export function* everyRow(ask: Ask): Iterable<readonly [table: string, row: Row]> {
  for (const [table, row] of TABLES) {
    const rows = ask((statements) => statements.get(`all-${table}`).iterate()[Symbol.iterator]())
    try {
      for (;;) {
        const next = ask(() => rows.next())
        if (next.done === true) break
        yield [table, row(next.value) as Row]
      }
    } finally {
      // Whoever stops half-way leaves no open read behind.
      rows.return?.()
    }
  }
}
