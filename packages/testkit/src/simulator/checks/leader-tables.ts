import { Replica, ReplicaDiverged } from '@fairlead/engine'
import { loadState } from '../store/load-state.ts'
import type { StoreFiles } from '../store/sim-store.ts'
import { broken } from '../violation.ts'
import { compareDisks } from './compare-disks.ts'
import type { Truth } from './truth.ts'

/** Ends the run if the tables have other rows than what has happened. True if they reach as far, and were compared. */
export function compareTables({ tables }: StoreFiles, truth: Truth): boolean {
  if (tables.batch !== truth.batch) return false
  const of = `the tables at batch ${tables.batch}`
  compareDisks({ due: truth.disk, found: tables.seen }, { invariant: 'projection', of })
  return true
}

/** What a process has left must lead to all that has happened: the tables, and the log behind them. */
export function checkLeft({ tables, log }: StoreFiles, truth: Truth): void {
  const disk = tables.seen.copy()
  const replica = new Replica(loadState(disk, tables.batch))
  try {
    for (const { batch, body } of log.after(tables.batch)) replica.apply(batch, body)
  } catch (error) {
    if (!(error instanceof ReplicaDiverged)) throw error
    broken('recovery', error.message)
  }
  if (log.batch > tables.batch) disk.write(replica.state.takeRows())
  const of = `what was left at batch ${tables.batch}`
  compareDisks({ due: truth.disk, found: disk }, { invariant: 'recovery', of })
}
