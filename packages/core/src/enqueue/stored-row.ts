import { toHex } from '../encoding/bytes.ts'
import type { JobRow, NewJobRow } from '../ports/rows.ts'

/** The row of a new job as it is read back. */
export function storedRow(row: NewJobRow): JobRow {
  const { txHash } = row
  return { ...row, txHash: typeof txHash === 'string' ? txHash : toHex(txHash) }
}
