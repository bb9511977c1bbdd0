import type { CustomTypesConfig } from 'pg'
import type { Kind, RowType } from '../rows/rows.ts'
import { jsonOf } from '../rows/rows.ts'
import type { SqlValue } from '../sqlite/driver.ts'

/**
 * Values on their way to PostgreSQL and back. What comes back are the cells that the SQLite store reads, too, so `rowOf` makes
 * the same rows of both.
 */

/** PostgreSQL has no U+0000 in text. */
export function escaped(text: string): string {
  if (!/[\\\0]/.test(text)) return text
  return text.replaceAll(/[\\\0]/g, (found) => (found === '\\' ? '\\\\' : '\\0'))
}

function unescaped(text: string): string {
  if (!text.includes('\\')) return text
  return text.replaceAll(/\\([\\0])/g, (_, found: string) => (found === '0' ? '\0' : '\\'))
}

/** Bytes as PostgreSQL reads them in text. */
export function hexOf(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}`
}

/** An id or hash: 0x and its digits. Anything else is refused by PostgreSQL. */
export function idHex(id: string): string {
  return `\\${id.slice(1)}`
}

/** The text of an array of texts. */
export function arrayText(texts: readonly string[]): string {
  const quoted = texts.map((text) => `"${escaped(text).replaceAll(/[\\"]/g, '\\$&')}"`)
  return `{${quoted.join(',')}}`
}

export type Param = string | number | boolean | null

export function paramOf(kind: Kind, value: unknown): Param {
  if (value === null) return null
  switch (kind) {
    case 'int':
      return value as number
    case 'bool':
      return value as boolean
    case 'text':
      return escaped(value as string)
    case 'id':
      // A hash that the engine drew comes as bytes.
      return typeof value === 'string' ? idHex(value) : hexOf(value as Uint8Array)
    case 'bigint':
      return (value as bigint).toString()
    case 'bytes':
      return hexOf(value as Uint8Array)
    case 'json':
      return jsonOf(value)
    case 'list':
      return (value as readonly unknown[]).length === 0 ? null : JSON.stringify(value)
  }
}

/** Rows as a list of values for each column. */
export function listsIn(
  { columns }: RowType<unknown>,
  rows: readonly object[],
): Record<string, Param[]> {
  return Object.fromEntries(
    columns.map(({ column, field, kind }) => [
      column,
      rows.map((row) => paramOf(kind, (row as Readonly<Record<string, unknown>>)[field])),
    ]),
  )
}

const PARSERS: Readonly<Record<number, (text: string) => SqlValue>> = {
  // boolean, bytea, bigint, integer, text, json, numeric
  16: (text) => (text === 't' ? 1 : 0),
  17: (text) => Buffer.from(text.slice(2), 'hex'),
  20: Number,
  23: Number,
  25: unescaped,
  114: (text) => text,
  1700: (text) => text,
}

/** How the columns of an answer become cells. */
export const CELL_TYPES: CustomTypesConfig = {
  getTypeParser: (oid: number) => PARSERS[oid] ?? ((text: string) => text),
} as CustomTypesConfig
