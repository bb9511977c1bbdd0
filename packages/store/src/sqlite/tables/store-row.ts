import { invariant } from '@fairlead/core/internal'
import { type Cells, STORE } from '../../rows/rows.ts'
import { rowIn, sumsOf } from '../rows/row-sums.ts'
import type { Statements } from './statements.ts'

/**
 * The row of the table `store`. The writer changes it with the rows that it writes, and stores it with each commit.
 */
export interface StoreRow {
  readonly id: Uint8Array
  /** The tables are as after this batch of the log. */
  batch: number
  isClean: boolean
  jobs: number
  leases: number
  results: number
  /** The number of the first entry, the one that is next while the journal is empty. */
  journalFirst: number
  journalLast: number
  /** The hash before the first entry. */
  journalBefore: Uint8Array
  /** The hash of the last entry. */
  journalHash: Uint8Array
  pruneEnded: number | null
  pruneResults: number | null
  marks: Marks
}

/**
 * Each commit has a number. The write-ahead log and the file do not tell on their own that they belong together: SQLite
 * would take pages from an old copy of one of them, and mix states. The row as the file has it, and the row as
 * the log has it, tell by these numbers.
 */
export interface Marks {
  readonly commit: number
  /** The file alone had at least this commit when the write-ahead log began. */
  readonly base: number
}

/** As the table has it. */
export type StoredStore = Omit<StoreRow, 'marks'> & { readonly marks: Uint8Array }

export function loadStoreRow(statements: Statements): StoreRow {
  const cells = statements.get('find-store').get()
  invariant(cells !== undefined, 'a store has a row about itself')
  return storeRowOf(cells)
}

export function saveStoreRow(statements: Statements, row: StoreRow): void {
  const { marks, isClean, ...rest } = row
  const stored = { ...rest, isClean: isClean ? 1 : 0, marks: bytesOfMarks(marks) }
  const cells = STORE.columns.map(({ field }) => stored[field as keyof StoreRow])
  const { changes } = statements.get('save-store').run(...cells, ...sumsOf(STORE, cells))
  invariant(Number(changes) === 1, 'a store has a row about itself')
}

export function storeRowOf(cells: Cells): StoreRow {
  const row = rowIn(STORE, cells)
  return { ...row, marks: marksIn(Buffer.from(row.marks)) ?? { commit: 0, base: 0 } }
}

/** Finds the marks in a page of the file. */
const MAGIC = Buffer.from('fl-marks', 'latin1')

function bytesOfMarks({ commit, base }: Marks): Uint8Array {
  const bytes = Buffer.alloc(24)
  MAGIC.copy(bytes)
  bytes.writeBigUInt64BE(BigInt(commit), 8)
  bytes.writeBigUInt64BE(BigInt(base), 16)
  return bytes
}

/** The marks in a page or in their column; null if there are none. */
export function marksIn(bytes: Buffer): Marks | null {
  const at = bytes.indexOf(MAGIC)
  if (at < 0 || at + 24 > bytes.length) return null
  const numberAt = (place: number): number => Number(bytes.readBigUInt64BE(at + place))
  return { commit: numberAt(8), base: numberAt(16) }
}
