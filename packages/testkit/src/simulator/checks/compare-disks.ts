import type { SimDisk } from '../store/sim-disk.ts'
import { broken, type InvariantName } from '../violation.ts'
import { firstDifference } from './first-difference.ts'

/** Ends the run if two tables differ in any row. */
export function compareDisks(
  { due, found }: { readonly due: SimDisk; readonly found: SimDisk },
  { invariant, of }: { readonly invariant: InvariantName; readonly of: string },
): void {
  const [dueRows, foundRows] = [due.rows(), found.rows()]
  const place = dueRows.findIndex((row, i) => firstDifference(row, foundRows[i]) !== null)
  const difference =
    firstDifference(dueRows[place] ?? dueRows.length, foundRows[place] ?? foundRows.length) ??
    firstDifference(due.entriesAfter(0), found.entriesAfter(0))
  if (difference === null) return
  const [table, row = {}] = dueRows[place] ?? ['journal']
  const name = [row['id'], row['lane'], row['key']].filter((part) => part !== undefined)
  broken(invariant, `${table} ${name.map(String).join(' ')} of ${of} differs at ${difference}`)
}
