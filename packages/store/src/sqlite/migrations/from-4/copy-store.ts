import { NO_ROWS } from '@fairlead/core/internal'
import { unavailable } from '../../../unavailable.ts'
import { openDatabase, openReadOnly, told } from '../../driver.ts'
import { encodeBatch } from '../../rows/batch-codec.ts'
import { openTablesFile } from '../../tables/open-tables.ts'
import type { TablesFile } from '../../tables/tables-file.ts'
import type { Progress } from '../bring-forward.ts'
import { LoggedRows } from './logged-rows.ts'
import { OldRows, type Part } from './old-rows.ts'
import { type OldStore, readRowLog } from './row-log.ts'

/**
 * Copies the rows of a store of version 4 into a new one. If it was not stopped in order, its log of rows has newer ones. Returns the
 * bytes of a batch in that log that a crash tore.
 */
export function copyRows(path: string, made: string, progress: Progress): number {
  // Before anything changes.
  const { batches, tornBytes } = readRowLog(path, oldStoreAt(path))
  const logged = new LoggedRows(batches)
  const old = openDatabase(path)
  let file: TablesFile | null = null
  try {
    // Everything that is in a write-ahead log comes into the file, so that none is left for the new one.
    old.exec('PRAGMA journal_mode = DELETE')
    const rows = new OldRows(old)
    // What is new in the log may be in the tables already. It is taken out for as long as they are read.
    old.exec('BEGIN')
    rows.forget(logged)
    file = openTablesFile(made)
    const write = (part: Part) => file?.apply(encodeBatch({ ...NO_ROWS, ...part }), 0)
    const total = rows.jobs + logged.newJobs.size
    let done = 0
    for (const part of rows.keptResults()) write(part)
    for (const part of rows.jobPages()) {
      write(part)
      done += part.newJobs?.length ?? 0
      progress(done, total)
    }
    copyJournal(path, rows, file, write)
    write(rows.others())
    if (batches.length > 0) {
      write(logged.rest(file.row.journalLast, (seq) => rows.idOf(seq)))
      progress(total, total)
    }
    old.exec('ROLLBACK')
    file.finish(0)
    return tornBytes
  } finally {
    file?.close()
    old.close()
  }
}

function copyJournal(
  path: string,
  rows: OldRows,
  file: TablesFile,
  write: (part: Part) => void,
): void {
  const ends = rows.journalEnds()
  if (ends === null) return
  file.beginJournal(ends.first, ends.before)
  for (const part of rows.journal()) write(part)
  if (Buffer.compare(file.row.journalHash, ends.last) === 0) return
  const advice = 'the chain of its journal is broken; go back to the last backup'
  throw unavailable(path, 'damaged', advice)
}

function oldStoreAt(path: string): OldStore {
  const old = openReadOnly(path)
  try {
    const [cells = []] = told(old, 'SELECT tell(id, carried, checked) FROM store')
    const [id, carried, checked] = cells as [Uint8Array, number, number | null]
    return { id, carried, checked: checked ?? carried }
  } finally {
    old.close()
  }
}
