import { randomBytes } from 'node:crypto'
import { copyFileSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { WriteBatch } from '@fairlead/core/internal'
import { makePrivate } from '../../file-mode.ts'
import { asUnavailable, unavailable } from '../../unavailable.ts'
import { openDatabase, openReadOnly } from '../driver.ts'
import { SCHEMA_VERSION, versionOf } from '../migrate.ts'
import { OwnerLock } from '../owner-lock.ts'
import { encodeBatch } from '../rows/batch-codec.ts'
import { realPath, refuseFolder, removeTables, sync } from '../store-files.ts'
import { problemsIn, startOf, storeRowIn } from '../tables/check-tables.ts'
import { moveFileSum } from '../tables/file-sum.ts'
import { KeyHash } from '../tables/key-hash.ts'
import { openTablesFile } from '../tables/open-tables.ts'
import { Statements } from '../tables/statements.ts'
import { loadStoreRow, saveStoreRow } from '../tables/store-row.ts'

const QUERIES = new URL('../../../src/sqlite/queries/', import.meta.url)
const RENEW_HASHES = readFileSync(new URL('renew-key-hashes.sql', QUERIES), 'utf8')

const ID_BYTES = 16

/** The facts about a backup that was found whole. */
export interface BackupFacts {
  /** Its tables are as after this batch. */
  readonly batch: number
  readonly bytes: number
}

export interface Restoring {
  /** True: the files of a store that is there are renamed. False: such a store is refused. */
  readonly movesAside: boolean
  /** Rows that are written into the copy before it becomes the store. */
  readonly rows: (copy: { readonly batch: number; readonly lastEntry: number }) => WriteBatch
}

export interface Restored extends BackupFacts {
  /** The new path of the store that was there; its other files are beside it. Null if there was none. */
  readonly aside: string | null
}

/** Reads a backup as a whole, and refuses one that no store can be made of (BACKUP-3). Changes nothing. */
export function checkBackup(path: string): BackupFacts {
  refuseFolder(path)
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (bytes === 0) throw unavailable(path, 'no_backup', 'there is no such file, or it is empty')
  try {
    if (hasWriteAheadLog(path)) throw notComplete(path)
    const db = openReadOnly(path)
    try {
      const version = versionOf(db, path)
      if (version < SCHEMA_VERSION) throw olderBackup(path, version)
      const row = storeRowIn(db)
      if (!row.isClean) throw notComplete(path)
      const problems = problemsIn(db, row)
      if (problems.length > 0) throw damagedBackup(path, problems)
      return { batch: row.batch, bytes }
    } finally {
      db.close()
    }
  } catch (error) {
    const refusal = asUnavailable(path, error)
    const isBroken = refusal.details['reason'] === 'damaged' && refusal !== error
    throw isBroken ? damagedBackup(path, [(error as Error).message]) : refusal
  }
}

/** Told by the header: to open such a file, even to read it, makes files beside it. */
function hasWriteAheadLog(path: string): boolean {
  const head = startOf(path).subarray(0, JOURNAL_MODE_AT + 1)
  return head.toString('latin1', 0, MAGIC.length) === MAGIC && head[JOURNAL_MODE_AT] === 2
}

const MAGIC = 'SQLite format 3'
const JOURNAL_MODE_AT = 19

/**
 * Makes a store of a backup. The copy gets another id, so that no file of an earlier log fits it. It is complete and durable before a
 * store that is there is renamed; a restore that was interrupted is started again.
 */
export function restoreStore(from: string, to: string, { movesAside, rows }: Restoring): Restored {
  const facts = checkBackup(from)
  const file = realPath(to)
  refuseFolder(file)
  if (realPath(from) === file) {
    throw unavailable(file, 'exists', 'it is the backup itself; name another file for the store')
  }
  const lock = OwnerLock.take(file)
  const copy = `${file}.restoring`
  try {
    const there = filesOfStore(file)
    if (there.length > 0 && !movesAside) throw storeExists(file, there)
    removeTables(copy)
    makePrivate(copy)
    copyFileSync(from, copy)
    prepare(copy, rows)
    sync(copy)
    const aside = there.length === 0 ? null : moveAside(file, there)
    renameSync(copy, file)
    moveFileSum(copy, file)
    sync(dirname(file))
    return { ...facts, aside }
  } catch (error) {
    removeTables(copy)
    throw asUnavailable(file, error)
  } finally {
    lock.release()
  }
}

function prepare(copy: string, rows: Restoring['rows']): void {
  const db = openDatabase(copy)
  try {
    db.exec('BEGIN IMMEDIATE')
    const statements = new Statements(db)
    const id = randomBytes(ID_BYTES)
    saveStoreRow(statements, { ...loadStoreRow(statements), id })
    // Keys are looked up by hashes that depend on the id.
    const keyHash = new KeyHash(id)
    db.function('hash_of_key', { varargs: true }, (caller, txHash) =>
      keyHash.of(caller as Uint8Array, txHash as Uint8Array),
    )
    db.exec(RENEW_HASHES)
    db.exec('COMMIT')
  } finally {
    db.close()
  }
  const tables = openTablesFile(copy)
  try {
    const { batch, journalLast } = tables.row
    tables.apply(encodeBatch(rows({ batch, lastEntry: journalLast })), batch)
    tables.finish(batch)
  } finally {
    tables.close()
  }
}

/** The names of the tables and their log that exist, the tables first. */
function filesOfStore(file: string): string[] {
  const name = basename(file)
  const isPart = (rest: string): boolean =>
    ['', '-wal', '-shm', '-journal', '.sum'].includes(rest) || /^-log-\d+(\.new)?$/.test(rest)
  return readdirSync(dirname(file))
    .filter((one) => one.startsWith(name) && isPart(one.slice(name.length)))
    .sort()
    .map((one) => join(dirname(file), one))
}

function moveAside(file: string, there: readonly string[]): string {
  const stamp = new Date().toISOString().replaceAll(/[-:]|\..*/g, '')
  const aside = `${file}.before-restore-${stamp}Z`
  for (const one of there) renameSync(one, aside + one.slice(file.length))
  return aside
}

function storeExists(file: string, there: readonly string[]): Error {
  const names = there.map((one) => basename(one)).join(', ')
  const advice = `a store is there (${names}); restore to another file, or with --force, which renames these`
  return unavailable(file, 'exists', advice)
}

function notComplete(path: string): Error {
  const advice =
    'it is not a backup: it was copied while a server had it open, or its server was killed, and it lacks its log; ' +
    'make backups with fairlead backup'
  return unavailable(path, 'not_complete', advice)
}

function damagedBackup(path: string, problems: readonly string[]): Error {
  const advice = `the backup is damaged: ${problems.join('; ')}; go back to another one`
  return unavailable(path, 'damaged', advice)
}

function olderBackup(path: string, version: number): Error {
  const advice =
    `it is of an earlier Fairlead (schema ${version}); copy it to the place of the store yourself, ` +
    'and the next start brings it forward'
  return unavailable(path, 'older_schema', advice, { details: { version } })
}
