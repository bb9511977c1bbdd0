import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { asUnavailable } from '../unavailable.ts'
import { openReadOnly } from './driver.ts'
import { APPLICATION_ID, versionOf } from './migrate.ts'
import { hasLock } from './owner-lock.ts'

const MAGIC = 'SQLite format 3\0'
/** In the header of a database. The cookie counts changes of the schema. */
const AT = { cookie: 40, application: 68, end: 72 }

/**
 * Refuses a file of something else before a lock is made beside it (STORE-11). A file with a lock was a store: to close it
 * here would give up the locks that this process may have on it.
 */
export function refuseForeign(path: string): void {
  if (hasLock(path) || !looksForeign(path)) return
  try {
    const db = openReadOnly(path)
    try {
      versionOf(db, path)
    } finally {
      db.close()
    }
  } catch (error) {
    throw asUnavailable(path, error)
  }
}

function looksForeign(path: string): boolean {
  const head = Buffer.alloc(AT.end)
  try {
    // To open a pipe would wait for its other end.
    if (!statSync(path).isFile()) return false
    const file = openSync(path, 'r')
    try {
      const length = readSync(file, head, 0, AT.end, 0)
      if (length === 0) return false
    } finally {
      closeSync(file)
    }
  } catch {
    // No file, or one that this user may not read, which opening it will tell.
    return false
  }
  if (head.toString('latin1', 0, MAGIC.length) !== MAGIC) return true
  const owner = head.readUInt32BE(AT.application)
  const isNew = owner === 0 && head.readUInt32BE(AT.cookie) === 0
  return owner !== APPLICATION_ID && !isNew
}
