import { crc32 } from 'node:zlib'
import { JOB, LEASE, ROW_TYPES, type RowType } from '../../../rows/rows.ts'
import { unavailable } from '../../../unavailable.ts'
import { type Database, type SqlValue, tell } from '../../driver.ts'
import { wrongRowsOf } from '../../tables/check-rows.ts'

/** The version from which on each row has sums. */
const FIRST_WITH_SUMS = 7

/** Refuses a file whose checksums are wrong before it gets new ones. */
export function refuseDamaged(path: string, db: Database, version: number): void {
  if (version >= FIRST_WITH_SUMS) refuseDamagedRows(db)
  else refuseDamagedBytes(path, db)
}

/** Columns that version 8 added. */
const ADDED: ReadonlyMap<RowType<unknown>, readonly string[]> = new Map<
  RowType<unknown>,
  readonly string[]
>([
  [JOB, ['options', 'released_at']],
  [LEASE, ['timeout_at']],
])

function refuseDamagedRows(db: Database): void {
  for (const type of ROW_TYPES) {
    const [problem] = wrongRowsOf(db, without(type, ADDED.get(type) ?? []), 1)
    if (problem !== undefined) throw problem
  }
}

function without(type: RowType<unknown>, added: readonly string[]): RowType<unknown> {
  const isOld = ({ column }: { readonly column: string }) => !added.includes(column)
  const oldUpTo = (place: number): number => type.columns.slice(0, place).filter(isOld).length
  const sums = type.sums.map(({ column, from, to }) => {
    return { column, from: oldUpTo(from), to: oldUpTo(to) }
  })
  return { ...type, columns: type.columns.filter(isOld), sums }
}

/** Earlier ones had checksums of payloads, outputs and data about results, and a chain of entries, which stays. */
function refuseDamagedBytes(path: string, db: Database): void {
  let damaged = 0
  const count = (crc: SqlValue | undefined, ...parts: (SqlValue | undefined)[]): void => {
    const found = parts.reduce<number>(
      (sum, part) => (part instanceof Uint8Array ? crc32(part, sum) : sum),
      0,
    )
    if (found !== crc) damaged++
  }
  tell(db, 'SELECT tell(crc, payload) FROM payloads', ([crc, payload]) => count(crc, payload))
  tell(db, 'SELECT tell(crc, output, meta) FROM results', ([crc, output, meta]) =>
    count(crc, output, meta),
  )
  if (damaged === 0) return
  const advice =
    `the file is damaged: ${damaged} payloads or results have a wrong checksum; keep a copy of it and ` +
    'go back to the last backup'
  throw unavailable(path, 'damaged', advice)
}
