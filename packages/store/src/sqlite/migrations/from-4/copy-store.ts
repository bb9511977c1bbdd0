import { existsSync } from 'node:fs'
import { NO_ROWS } from '@fairlead/core/internal'
import { unavailable } from '../../../unavailable.ts'
import { openDatabase } from '../../driver.ts'
import { encodeBatch } from '../../rows/batch-codec.ts'
import { openTablesFile } from '../../tables/open-tables.ts'
import type { TablesFile } from '../../tables/tables-file.ts'
import type { Progress } from '../bring-forward.ts'
import { OldRows, type Part } from './old-rows.ts'

/**
 * Copies the rows of a store of version 4 into a new one. Version 4 had a log of rows in files beside the store, which it deleted
 * when it was stopped.
 */
export function copyRows(path: string, made: string, progress: Progress): void {
  refuseUnstopped(path)
  const old = openDatabase(path)
  let file: TablesFile | null = null
  try {
    // Everything that is in a write-ahead log comes into the file, so that none is left for the new one.
    old.exec('PRAGMA journal_mode = DELETE')
    const rows = new OldRows(old)
    file = openTablesFile(made)
    const write = (part: Part) => file?.apply(encodeBatch({ ...NO_ROWS, ...part }), 0)
    const total = rows.jobs
    let done = 0
    for (const part of rows.keptResults()) write(part)
    for (const part of rows.jobPages()) {
      write(part)
      done += part.newJobs?.length ?? 0
      progress(done, total)
    }
    const ends = rows.journalEnds()
    if (ends !== null) file.beginJournal(ends.first, ends.before)
    for (const part of rows.journal()) write(part)
    if (ends !== null && Buffer.compare(file.row.journalHash, ends.last) !== 0) {
      throw unavailable(
        path,
        'damaged',
        'the chain of its journal is broken; go back to the last backup',
      )
    }
    write(rows.others())
    file.finish(0)
  } finally {
    file?.close()
    old.close()
  }
}

function refuseUnstopped(path: string): void {
  if (!['-log-a', '-log-b'].some((end) => existsSync(path + end))) return
  const advice =
    'it is of an earlier Fairlead and was not stopped in order; start it once with Fairlead 0.1 and stop it in order, ' +
    'then it can be brought forward'
  throw unavailable(path, 'older_schema', advice, { details: { version: 4 } })
}
