import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { SCHEMA_VERSION } from '@fairlead/store/sqlite'
import { besideStore, isPostgres } from './store-address.ts'

/** The sizes of the files of a store, in bytes. */
export interface StoreFiles {
  readonly tables: number
  /** The write-ahead log of the tables. */
  readonly wal: number
  readonly log: number
  /** The files of the log, by name. */
  readonly logFiles: readonly string[]
}

export function storeFiles(path: string): StoreFiles {
  const file = resolve(path)
  const start = `${basename(file)}-log-`
  const logFiles = namesBeside(file)
    .filter((name) => name.startsWith(start) && /^[1-9]\d*$/.test(name.slice(start.length)))
    .map((name) => join(dirname(file), name))
    .sort()
  const log = logFiles.reduce((sum, name) => sum + sizeOf(name), 0)
  return { tables: sizeOf(file), wal: sizeOf(`${file}-wal`), log, logFiles }
}

/** Log lines of jobs (PROGRESS-3), beside the tables and no part of them. */
export function jobLogsPath(path: string): string {
  return path === ':memory:' ? path : `${besideStore(path)}.job-logs`
}

/** All files that may contain people's work. Some of them need not be there. */
export function filesWithWork(path: string): string[] {
  const logs = jobLogsPath(path)
  if (isPostgres(path)) return [logs, `${logs}-wal`]
  const databases = [path, logs]
  return [...databases, ...databases.map((file) => `${file}-wal`), ...storeFiles(path).logFiles]
}

const APPLICATION_ID = 0x464c4431
const AT = { version: 60, application: 68, end: 72 }

/**
 * The schema of a store of an earlier Fairlead, which the next opening would copy into a new file; null for any other file. It is
 * read from the header of the file, so nothing is changed.
 */
export function olderSchema(path: string): number | null {
  const head = Buffer.alloc(AT.end)
  try {
    const file = openSync(path, 'r')
    try {
      if (readSync(file, head, 0, AT.end, 0) < AT.end) return null
    } finally {
      closeSync(file)
    }
  } catch {
    return null
  }
  const version = head.readUInt32BE(AT.version)
  const isOurs = head.readUInt32BE(AT.application) === APPLICATION_ID
  return isOurs && version > 0 && version < SCHEMA_VERSION ? version : null
}

/** A size for people. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024
    unit++
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

function namesBeside(file: string): string[] {
  try {
    return readdirSync(dirname(file))
  } catch {
    return []
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
