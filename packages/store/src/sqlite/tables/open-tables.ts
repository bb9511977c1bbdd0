import { isEmptyFile, makePrivate } from '../../file-mode.ts'
import { asUnavailable } from '../../unavailable.ts'
import { type Database, openDatabase, openReadOnly } from '../driver.ts'
import { makeTables, versionOf } from '../migrate.ts'
import { checkTables, unopened } from './check-tables.ts'
import { PACE, type Pace, TablesFile } from './tables-file.ts'

export interface TablesOptions {
  readonly pace?: Partial<Pace>
}

/** The path that SQLite takes for no file. */
export const IN_MEMORY = ':memory:'

/** How long a lock of another program is waited for. Calls wait meanwhile. */
const LOCK_WAIT_MS = 1_000

/** Holds the indexes on ids, whose pages are written at random, for a few million jobs. */
const CACHE_KIB = 262_144

/** Opens the tables, or makes them where no file is. The caller has the lock of the store. */
export function openTablesFile(path: string, { pace }: TablesOptions = {}): TablesFile {
  let db: Database | null = null
  try {
    const isNew = isEmptyFile(path)
    if (!isNew) inspect(path)
    makePrivate(path)
    db = openDatabase(path, LOCK_WAIT_MS)
    configure(db)
    if (isNew) makeTables(db)
    return new TablesFile(path, db, { ...PACE, ...pace })
  } catch (error) {
    db?.close()
    throw asUnavailable(path, error)
  }
}

/** Tables without a file. They last as long as the object. */
export function openTablesInMemory({ pace }: TablesOptions = {}): TablesFile {
  const db = openDatabase(IN_MEMORY)
  configure(db)
  makeTables(db)
  return new TablesFile(IN_MEMORY, db, { ...PACE, ...pace })
}

/** A file that cannot be used is refused and left as it is. One of an earlier version was brought forward before. */
function inspect(path: string): void {
  const facts = unopened(path)
  const db = openReadOnly(path)
  try {
    versionOf(db, path)
    checkTables(path, db, facts)
  } finally {
    db.close()
  }
}

function configure(db: Database): void {
  db.exec('PRAGMA journal_mode = WAL')
  // What a power cut takes from the tables, the log still has.
  db.exec('PRAGMA synchronous = NORMAL')
  // Deleted rows are overwritten (AUDIT-10).
  db.exec('PRAGMA secure_delete = ON')
  db.exec('PRAGMA temp_store = MEMORY')
  db.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
  // An open transaction writes nothing before its commit.
  db.exec('PRAGMA cache_spill = OFF')
  db.exec('PRAGMA wal_autocheckpoint = 0')
}
