import { fromHex } from '@fairlead/core'
import { invariant } from '@fairlead/core/internal'
import type { SqlValue } from './driver.ts'

/** How values of each kind lie in a cell, and how they come out again. */

/** Ids and hashes are stored as their 32 bytes; the queries give them back as text. */
export function bytesOf(hex: string): Uint8Array {
  const bytes = fromHex(hex)
  invariant(bytes?.length === 32, 'an id or hash is 0x and 64 lower-case hex digits')
  return bytes
}

/** Bytes in memory of their own, whatever the driver made of them. */
export function rawOf(cell: SqlValue | undefined): Uint8Array {
  return Uint8Array.from(cell as Uint8Array)
}

/** Text that people chose. A driver may cut it at U+0000, so with one it is stored as bytes. */
export function textCell(text: string): SqlValue {
  return text.includes('\0') ? Buffer.from(text, 'utf8') : text
}

export function textOf(cell: SqlValue | undefined): string {
  if (typeof cell === 'string') return cell
  return Buffer.from(cell as Uint8Array).toString('utf8')
}

/** Lists and small records, which no query looks into. Many of the lists are empty. */
export function jsonCell(value: unknown): string {
  return Array.isArray(value) && value.length === 0 ? '[]' : JSON.stringify(value)
}

export function jsonOf<Value>(cell: SqlValue | undefined): Value {
  return JSON.parse(cell as string) as Value
}

/** A list that is nearly always empty takes no bytes then. */
export function listCell(list: readonly unknown[]): string | null {
  return list.length === 0 ? null : JSON.stringify(list)
}

export function listOf<Item>(cell: SqlValue | undefined): readonly Item[] {
  return cell === null ? [] : jsonOf(cell)
}
