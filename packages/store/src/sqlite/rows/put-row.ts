import { jsonOf, type Kind, type RowType } from '../../rows/rows.ts'
import type { SqlValue } from '../driver.ts'
import type { CellWriter } from './cell-codec.ts'

/** Writes the cells of a row. */
export function putRow(to: CellWriter, { columns }: RowType<unknown>, row: object): void {
  for (const { field, kind } of columns) {
    putCell(to, kind, (row as Readonly<Record<string, unknown>>)[field])
  }
}

function putCell(to: CellWriter, kind: Kind, value: unknown): void {
  if (value === null) return to.null()
  switch (kind) {
    case 'int':
      return to.number(value as number)
    case 'text':
      return to.text(value as string)
    case 'id':
      // A hash that the engine drew comes as bytes.
      return typeof value === 'string' ? to.id(value) : to.idBytes(value as Uint8Array)
    case 'bigint':
      return to.text((value as bigint).toString())
    case 'bool':
      return to.number(value === true ? 1 : 0)
    case 'bytes':
      return to.bytes(value as Uint8Array)
    case 'json':
      return to.text(jsonOf(value))
    case 'list':
      return (value as readonly unknown[]).length === 0 ? to.null() : to.text(JSON.stringify(value))
  }
}

/** Writes a cell of a stored row as it was before it was stored: an id is its 32 bytes, in a row of JSON its text. */
export function putStored(to: CellWriter, kind: Kind, cell: SqlValue): void {
  if (kind !== 'id' || cell === null) to.cell(cell)
  else if (typeof cell === 'string') to.id(cell)
  else to.idBytes(cell as Uint8Array)
}
