import { FairleadError } from '@fairlead/core'
import { type Cells, type RowType, rowOf } from '../../rows/rows.ts'
import type { SqlValue } from '../driver.ts'
import { type CellReader, CellWriter } from './cell-codec.ts'
import { putStored } from './put-row.ts'

/*
 * SQLite has no checksums: a bit that changes inside of a value is another value, and the last page of a large value that is
 * lost reads as zeros. So each row has the CRC32 of its cells, in the form in which they travel between threads: the writer has
 * these bytes anyway. The numbers that find the row are the seed, so a value that comes into another row is noticed, too.
 */

/** Adds the next row of a batch to a list: its cells, and behind them its sums. */
export function takeRow(
  reader: CellReader,
  { columns, keys, sums }: RowType<unknown>,
  to: SqlValue[],
): void {
  const at = to.length
  // Two at most, and the second behind the last cell.
  let first: number | null = null
  for (const sum of sums) {
    reader.cellsTo(to, at + sum.from - to.length)
    const start = reader.at
    reader.cellsTo(to, sum.to - sum.from)
    const found = reader.sum(start, seedOf(to, at, keys))
    if (sum.to < columns.length) first = found
    else if (first === null) to.push(found)
    else to.push(first, found)
  }
}

/** The row of cells with their sums behind them, from a place on. A wrong sum is refused. */
export function rowIn<Row extends object>(type: RowType<Row>, cells: Cells, from = 0): Row {
  checkRow(type, cells, from)
  return rowOf(type, cells, from)
}

export function checkRow(type: RowType<unknown>, cells: Cells, from = 0): void {
  let isRight = false
  try {
    const behind = from + type.columns.length
    isRight = sumsOf(type, cells, from).every((sum, i) => sum === cells[behind + i])
  } catch {
    // A cell that no row has, such as an id of 31 bytes.
  }
  if (!isRight) throw damagedRow(type, cells, from)
}

/** The sums of a row, of its cells from a place on. */
export function sumsOf({ columns, keys, sums }: RowType<unknown>, cells: Cells, at = 0): number[] {
  writer.start()
  const seed = seedOf(cells, at, keys)
  const found = sums.map(({ from, to }) => {
    const start = writer.length
    for (let i = from; i < to; i++) {
      putStored(writer, (columns[i] as (typeof columns)[number]).kind, cells[at + i] as SqlValue)
    }
    return writer.sum(start, seed)
  })
  writer.clear()
  return found
}

const writer = new CellWriter()

/** Texts that find a row are among the cells of its one sum. */
function seedOf(cells: Cells, at: number, keys: number): number {
  let seed = 0
  for (let i = at; i < at + keys; i++) {
    const key = cells[i]
    if (typeof key === 'number') seed = Math.imul(seed ^ (key | 0), MIX) ^ (key / 2 ** 32)
  }
  return seed >>> 0
}

/** 2^32 divided by the golden ratio, odd: neighbours are far apart. */
const MIX = 0x9e37_79b1

function damagedRow({ table, columns, keys }: RowType<unknown>, cells: Cells, at: number): Error {
  const found = columns.slice(0, keys).map(({ column }, i) => {
    const cell = cells[at + i]
    return `${column} ${cell instanceof Uint8Array ? Buffer.from(cell).toString('hex') : cell}`
  })
  return damagedAt(table, found.length === 0 ? 'its row' : `the row with ${found.join(', ')}`)
}

/** What cannot be trusted of a table. */
export function damagedAt(table: string, what: string): FairleadError {
  const problem = `in table ${table}, ${what} does not fit its checksum`
  return new FairleadError(
    'StoreUnavailable',
    `the file is damaged: ${problem}; if somebody changed it by hand, bring back the old value; ` +
      'otherwise keep a copy of the file and go back to the last backup',
    { reason: 'damaged', problem },
  )
}

export function damagedEntry(what: string): FairleadError {
  return damagedAt('journal', what)
}
