import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { makePrivate } from '../../file-mode.ts'
import { asUnavailable, unavailable } from '../../unavailable.ts'
import { openDatabase, openReadOnly } from '../driver.ts'
import { removeTables, sync } from '../store-files.ts'
import { Statements } from '../tables/statements.ts'
import { loadStoreRow, saveStoreRow } from '../tables/store-row.ts'

/**
 * Copies the committed state of a store into a new file, on a connection of its own: batches are applied meanwhile. The copy is
 * complete without a log. Returns its batch.
 */
export class BackupFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  copyTo(to: string): number {
    refuseExisting(to)
    try {
      makePrivate(to)
      this.#vacuumInto(to)
      const batch = markClean(to)
      for (const path of [to, dirname(to)]) sync(path)
      return batch
    } catch (error) {
      removeTables(to)
      throw asUnavailable(to, error)
    }
  }

  close(): void {}

  /** One read transaction, so the copy is of one moment. */
  #vacuumInto(to: string): void {
    const db = openReadOnly(this.#path)
    try {
      db.exec(`VACUUM INTO '${to.replaceAll("'", "''")}'`)
    } finally {
      db.close()
    }
  }
}

function refuseExisting(to: string): void {
  if (!existsSync(to)) return
  throw unavailable(to, 'exists', 'it exists already; give the path of a file that does not')
}

/** The copy has no log beside it, and needs none. */
function markClean(path: string): number {
  const db = openDatabase(path)
  try {
    db.exec('PRAGMA journal_mode = DELETE')
    const statements = new Statements(db)
    const row = loadStoreRow(statements)
    saveStoreRow(statements, { ...row, isClean: true })
    return row.batch
  } finally {
    db.close()
  }
}
