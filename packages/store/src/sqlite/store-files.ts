import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { LogReport } from '../log-files/open-log.ts'
import { unavailable } from '../unavailable.ts'

/** A store that is reached by a symbolic link is the same store. */
export function realPath(path: string): string {
  const absolute = resolve(path)
  try {
    if (existsSync(absolute)) return realpathSync(absolute)
    // SQLite makes the file where a link points to, and the log and the lock have to be beside it.
    const isLink = lstatSync(absolute, { throwIfNoEntry: false })?.isSymbolicLink() === true
    const folder = realpathSync(dirname(absolute))
    return isLink
      ? realPath(resolve(folder, readlinkSync(absolute)))
      : join(folder, basename(absolute))
  } catch {
    // The folder does not exist, which opening the file will tell.
    return absolute
  }
}

/** Makes a file or a folder durable. */
export function sync(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Removes tables with all that SQLite and a clean close put beside them. */
export function removeTables(path: string): void {
  for (const end of ['', '-journal', '-wal', '-shm', '.sum']) rmSync(path + end, { force: true })
}

export function refuseFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return
  const advice =
    'it cannot be opened, because it is a folder; check that its folder exists, and give the path of a file in it'
  throw unavailable(path, 'cannot_open', advice)
}

export function hasLog(path: string): boolean {
  return logFiles(path).length > 0
}

/** Removes all files of a log that the tables do not need. */
export function removeLog(path: string): void {
  for (const file of logFiles(path)) rmSync(file)
}

/** The files of the log of a store. */
export function logFiles(path: string): string[] {
  const folder = dirname(path)
  const start = `${basename(path)}-log-`
  try {
    const names = readdirSync(folder).filter((name) => name.startsWith(start))
    return names.map((name) => join(folder, name))
  } catch {
    return []
  }
}

export function tablesMissing(path: string): Error {
  return unavailable(
    path,
    'tables_missing',
    'the file is missing or empty, and its log is here: without it all jobs of before the log are lost; ' +
      `bring the file back, or a backup of it; to begin anew, move ${basename(path)}-log-* away`,
  )
}

/** The log has to continue what the tables reflect, without a gap. */
export function refuseGap(path: string, batch: number, { first, end }: LogReport): void {
  if (first > batch + 1) {
    throw unavailable(
      path,
      'tables_too_old',
      `its tables end with batch ${batch}, and its log begins with batch ${first}: they are an old copy, and the ` +
        `batches between are in no file; bring back the newest copy of the file (and its -wal, if there is one)`,
      { details: { tablesBatch: batch, logFirst: first } },
    )
  }
  if (end.batch < batch) {
    throw unavailable(
      path,
      'log_too_old',
      `its log ends with batch ${end.batch}, and its tables reflect batch ${batch}: the log is an old copy, or was cut; ` +
        'bring back the newest files of the log',
      { details: { tablesBatch: batch, logEnd: end.batch } },
    )
  }
}
