import { crc32 } from 'node:zlib'
import { FairleadError, type ResultRow } from '@fairlead/core'
import type { SqlValue } from '../driver.ts'

/**
 * SQLite has no checksums, and gives zeros for the last page of a large value that is lost. So the values that may be large
 * have one of their own, and a read that meets a wrong one says that the file is damaged.
 */
export function checkedPayload(
  payload: SqlValue | undefined,
  crc: SqlValue | undefined,
): Uint8Array {
  // In memory of its own: that of the driver may be used again.
  const bytes = Uint8Array.from(payload as Uint8Array)
  if (crc32(bytes) !== crc) throw damagedValue('a payload')
  return bytes
}

export function checkedResult(row: ResultRow, crc: SqlValue | undefined): ResultRow {
  if (crcOfResult(row.output, row.meta) !== crc) throw damagedValue(`the result of ${row.jobId}`)
  return row
}

export function crcOfResult(output: Uint8Array | null, meta: Uint8Array | null): number {
  const crc = output === null ? 0 : crc32(output)
  return meta === null ? crc : crc32(meta, crc)
}

function damagedValue(what: string): Error {
  return new FairleadError(
    'StoreUnavailable',
    `the file is damaged: ${what} has a wrong checksum; keep a copy of it and go back to the last backup`,
    { reason: 'damaged' },
  )
}
