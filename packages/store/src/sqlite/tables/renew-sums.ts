import type { RowType } from '../../rows/rows.ts'
import type { Database } from '../driver.ts'
import { sumsOf } from '../rows/row-sums.ts'

/** Computes the sums of rows anew after a statement changed their values: of all, or of those from one key to another. */
export function renewSums(
  db: Database,
  type: RowType<unknown>,
  range?: { readonly after: number; readonly upTo: number },
): void {
  const { table, columns, sums } = type
  const cells = columns.map(({ column }) => column).join(', ')
  const set = sums.map(({ column }, i) => `${column} = new_sum(${i}, ${cells})`).join(', ')
  const key = columns[0]?.column
  const where =
    range === undefined ? '' : ` WHERE ${key} > ${range.after} AND ${key} <= ${range.upTo}`
  db.function('new_sum', { varargs: true }, (i, ...values) => {
    return sumsOf(type, values)[i as number] as number
  })
  db.exec(`UPDATE ${table} SET ${set}${where}`)
}
