import { existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs'
import { NO_ROWS } from '@fairlead/core/internal'
import { isEmptyFile } from '../../../file-mode.ts'
import { asUnavailable, unavailable } from '../../../unavailable.ts'
import { type Database, openDatabase, openReadOnly } from '../../driver.ts'
import { versionOf } from '../../migrate.ts'
import { encodeBatch } from '../../rows/batch-codec.ts'
import { openTablesFile } from '../../tables/open-tables.ts'
import type { TablesFile } from '../../tables/tables-file.ts'
import { OldRows, type Part } from './old-rows.ts'

const VERSION = 4

/** Called with the number of jobs that were copied, and of all jobs. */
export type Progress = (done: number, total: number) => void

/**
 * Brings a store of version 4 forward: copies its rows into a new file, which then takes its place. The old file stays as
 * `PATH.before-5`. Does nothing to a store of another version. The caller has the lock of the store.
 */
export function bringForward(path: string, progress: Progress): void {
  if (isEmptyFile(path) || versionAt(path) >= VERSION + 1) return
  refuseUnusable(path)
  const made = `${path}.new-5`
  try {
    // What an attempt left that did not come to its end.
    removeFile(made)
    copyRows(path, made, progress)
    keepOld(path)
    renameSync(made, path)
  } catch (error) {
    removeFile(made)
    throw asUnavailable(path, error)
  }
  removeFile(made)
}

function versionAt(path: string): number {
  let db: Database | null = null
  try {
    db = openReadOnly(path)
    return versionOf(db, path)
  } catch (error) {
    throw asUnavailable(path, error)
  } finally {
    db?.close()
  }
}

/** Version 4 had a log of rows in files beside the store, which it deleted when it was stopped. */
function refuseUnusable(path: string): void {
  const hasLog = ['-log-a', '-log-b'].some((end) => existsSync(path + end))
  const version = versionAt(path)
  if (version === VERSION && !hasLog) return
  const what = hasLog ? 'was not stopped in order' : `has a schema of version ${version}`
  const advice =
    `it is of an earlier Fairlead and ${what}; start it once with Fairlead 0.1 and stop it in order, ` +
    'then it can be brought forward'
  throw unavailable(path, 'older_schema', advice, { details: { version } })
}

function copyRows(path: string, made: string, progress: Progress): void {
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

/** The old file under another name. It was linked before if this is done again. */
function keepOld(path: string): void {
  const kept = `${path}.before-5`
  if (existsSync(kept) && statSync(kept).ino === statSync(path).ino) return
  linkSync(path, kept)
}

function removeFile(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
}
