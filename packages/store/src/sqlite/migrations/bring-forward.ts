import { copyFileSync, existsSync, linkSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isEmptyFile } from '../../file-mode.ts'
import { asUnavailable, unavailable } from '../../unavailable.ts'
import { type Database, openReadOnly } from '../driver.ts'
import { SCHEMA_VERSION, versionOf } from '../migrate.ts'
import { logFiles, removeTables, sync } from '../store-files.ts'
import { moveFileSum } from '../tables/file-sum.ts'
import { copyRows } from './from-4/copy-store.ts'
import { removeRowLog } from './from-4/row-log.ts'
import { addSums } from './from-5/add-sums.ts'

/** Called with the number of jobs that were brought forward, and of all jobs. */
export type Progress = (done: number, total: number) => void

/**
 * Makes a store of the newest version at another path, of one whose file has no write-ahead log afterwards. Returns the bytes at the
 * end of its log that a crash tore and that are left out.
 */
type Step = (path: string, made: string, progress: Progress, version: number) => number

const STEPS: Readonly<Record<number, Step>> = {
  4: copyRows,
  5: addSums,
  6: addSums,
  7: addSums,
}

/**
 * Brings a store of an earlier version forward: makes a new file of it, which then takes its place. The old file stays as
 * `PATH.before-8`, with its log if it needs one. Does nothing to a store of another version. The caller has the lock of the store.
 * Returns the bytes of the log that were torn.
 */
export function bringForward(path: string, progress: Progress): number {
  if (isEmptyFile(path)) return 0
  const version = versionAt(path)
  if (version === SCHEMA_VERSION) return 0
  const step = STEPS[version]
  if (step === undefined) throw tooOld(path, version)
  const made = `${path}.new-${SCHEMA_VERSION}`
  try {
    // What an attempt left that did not come to its end.
    removeTables(made)
    const tornBytes = step(path, made, progress, version)
    sync(made)
    keepOld(path)
    renameSync(made, path)
    moveFileSum(made, path)
    sync(dirname(path))
    removeTables(made)
    removeRowLog(path)
    return tornBytes
  } catch (error) {
    removeTables(made)
    throw asUnavailable(path, error)
  }
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

function tooOld(path: string, version: number): Error {
  const advice =
    `it is of an earlier Fairlead and has a schema of version ${version}; start it once with Fairlead 0.1 and ` +
    'stop it in order, then it can be brought forward'
  return unavailable(path, 'older_schema', advice, { details: { version } })
}

/** The old file under another name, and copies of the log beside it. It was linked before if this is done again. */
function keepOld(path: string): void {
  const kept = `${path}.before-${SCHEMA_VERSION}`
  // The log goes on in its files.
  for (const file of logFiles(path)) copyFileSync(file, kept + file.slice(path.length))
  if (existsSync(kept) && statSync(kept).ino === statSync(path).ino) return
  linkSync(path, kept)
}
