import { existsSync } from 'node:fs'
import { makePrivate } from '../file-mode.ts'
import { asUnavailable, unavailable } from '../unavailable.ts'
import { type Database, openDatabase, sqliteCode } from './driver.ts'
import { readHolder, removeHolder, writeHolder } from './holder.ts'

const BUSY = 5

/**
 * The right to use a store: an exclusive lock on an empty SQLite file beside it, which the operating system releases when the
 * process dies (STORE-3). The store itself has ordinary locks, so a person can read it while a server runs. The file of the
 * lock is never deleted: another process may be about to lock it.
 */
export class OwnerLock {
  readonly #path: string
  readonly #db: Database

  private constructor(path: string, db: Database) {
    this.#path = path
    this.#db = db
  }

  static take(path: string): OwnerLock {
    let db: Database | null = null
    try {
      makePrivate(lockOf(path))
      db = openDatabase(lockOf(path))
      db.exec('PRAGMA journal_mode = MEMORY')
      db.exec('BEGIN EXCLUSIVE')
      writeHolder(path)
      return new OwnerLock(path, db)
    } catch (error) {
      db?.close()
      const isHeld = ((sqliteCode(error) ?? 0) & 0xff) === BUSY
      throw isHeld ? heldByAnother(path, error) : asUnavailable(path, error)
    }
  }

  release(): void {
    // While the lock is still held: afterwards the name could be that of the next holder.
    removeHolder(this.#path)
    this.#db.close()
  }
}

/** True if a store was opened there before. */
export function hasLock(path: string): boolean {
  return existsSync(lockOf(path))
}

function lockOf(path: string): string {
  return `${path}.lock`
}

function heldByAnother(path: string, cause: unknown): Error {
  const holder = readHolder(path)
  const who =
    holder === null
      ? 'another process'
      : `process ${holder.pid} on ${holder.host} since ${holder.since}`
  return unavailable(path, 'held', `${who} has it open; stop that one or use another file`, {
    cause,
    details: holder === null ? {} : { holder },
  })
}
