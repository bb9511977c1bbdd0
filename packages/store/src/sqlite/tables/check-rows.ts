import { type AuditHead, type FairleadError, fromHex, toHex } from '@fairlead/core'
import { entryOf } from '../../rows/record-codec.ts'
import { JOB, LEASE, ROW_TYPES, type RowType, STORE } from '../../rows/rows.ts'
import { type Database, type SqlValue, tell } from '../driver.ts'
import { checkRow, damagedAt, damagedEntry } from '../rows/row-sums.ts'
import { id48, KeyHash } from './key-hash.ts'
import { columnsOf, textOf } from './query-texts.ts'
import type { StoreRow } from './store-row.ts'

/** The first values of all tables that are damaged. */
export function wrongRows(db: Database, row: StoreRow, max: number): string[] {
  const problems: FairleadError[] = []
  const derived = derivedColumns(new KeyHash(row.id))
  for (const type of ROW_TYPES) {
    if (type !== STORE) problems.push(...wrongRowsOf(db, type, max, derived.get(type)))
  }
  problems.push(...wrongEntries(db, row, max))
  return problems.slice(0, max).map(({ details }) => String(details['problem']))
}

/** What follows from a row is stored beside it: integers for the indexes. */
interface Derived {
  readonly columns: readonly string[]
  readonly isRight: (cells: readonly SqlValue[], found: readonly SqlValue[]) => boolean
}

function derivedColumns(keyHash: KeyHash): ReadonlyMap<RowType<unknown>, Derived> {
  return new Map<RowType<unknown>, Derived>([
    [
      JOB,
      {
        columns: ['id48', 'caller48', 'key_hash'],
        isRight: ([, id, caller, txHash], [ofId, ofCaller, ofKey]) =>
          ofId === id48(id as Uint8Array) &&
          ofCaller === id48(caller as Uint8Array) &&
          (ofKey === null || ofKey === keyHash.of(caller as Uint8Array, txHash as Uint8Array)),
      },
    ],
    [
      LEASE,
      {
        columns: ['id48'],
        isRight: ([, , id], [ofId]) => ofId === id48(id as Uint8Array),
      },
    ],
  ])
}

/** The first damaged rows of a table, as errors. */
export function wrongRowsOf(
  db: Database,
  type: RowType<unknown>,
  max: number,
  derived: Derived = { columns: [], isRight: () => true },
): FairleadError[] {
  const problems: FairleadError[] = []
  const columns = columnsOf(type)
  const list = [...columns, ...derived.columns].join(', ')
  tell(db, `SELECT tell(${list}) FROM ${type.table}`, (cells) => {
    if (problems.length >= max) return
    try {
      checkRow(type, cells)
      if (derived.isRight(cells, cells.slice(columns.length))) return
      problems.push(
        damagedAt(
          type.table,
          `a value for an index of the row with ${type.columns[0]?.column} ${String(cells[0])}`,
        ),
      )
    } catch (error) {
      problems.push(error as FairleadError)
    }
  })
  return problems
}

const ENTRIES = textOf('tell-journal')

/** The first entry that does not follow from the one before it. */
function wrongEntries(db: Database, row: StoreRow, max: number): FairleadError[] {
  const problems: FairleadError[] = []
  let last: AuditHead = { seq: row.journalFirst - 1, hash: toHex(row.journalBefore) }
  tell(db, ENTRIES, (cells) => {
    if (problems.length >= max) return
    const seq = cells[0] as number
    try {
      const { hash } = entryOf([...cells, fromHex(last.hash)], damagedEntry)
      if (seq !== last.seq + 1) problems.push(damagedAt('journal', `entry ${seq}`))
      last = { seq, hash }
    } catch (error) {
      problems.push(error as FairleadError)
      last = { seq, hash: toHex(cells.at(-1) as Uint8Array) }
    }
  })
  if (problems.length === 0 && last.hash !== toHex(row.journalHash)) {
    problems.push(damagedAt('journal', `entry ${last.seq}`))
  }
  return problems
}
