import { readdirSync, readFileSync } from 'node:fs'
import type { Database, SqlValue } from './driver.ts'
import { unavailable } from './unavailable.ts'

/** Marks a file as a Fairlead store: "FLD1". */
const APPLICATION_ID = 0x464c4431

const FOLDER = new URL('../../src/sqlite/migrations/', import.meta.url)

/** By number, beginning with 1; forward only, and never edited once released. */
const MIGRATIONS = readdirSync(FOLDER)
  .filter((name) => /^\d{4}-.*\.sql$/.test(name))
  .sort()
  .map((name) => readFileSync(new URL(name, FOLDER), 'utf8'))

export const SCHEMA_VERSION = MIGRATIONS.length

interface Header {
  readonly version: number
  readonly owner: number
  readonly isEmpty: boolean
}

/** Refuses a file that is not ours to write, before anything is written (STORE-11). */
export function refuseForeign(db: Database, path: string): void {
  const { version, owner, isEmpty } = readHeader(db)
  if (owner !== APPLICATION_ID && !(owner === 0 && isEmpty)) {
    throw unavailable(
      path,
      'not_a_store',
      'it is the database of another program; give the path of a store, or of a file that is not there yet',
    )
  }
  if (version > SCHEMA_VERSION) {
    throw unavailable(
      path,
      'newer_schema',
      `its schema is version ${version}, this Fairlead knows versions up to ${SCHEMA_VERSION}; ` +
        'start it with the newer Fairlead that wrote it',
      { details: { version, newest: SCHEMA_VERSION } },
    )
  }
}

/** The store as every version knows it: the id of its log, and the last batch that is in the tables. */
export interface LoggedStore {
  readonly id: Uint8Array
  readonly checkpointed: number
}

/**
 * Brings the file to the newest schema, in one transaction. `checkLog` throws where the log cannot be read: once the
 * file is migrated, the version that could read it does not open it any more.
 */
export function migrate(db: Database, checkLog: (store: LoggedStore) => void): void {
  const { version } = readHeader(db)
  if (version === SCHEMA_VERSION) return
  if (version > 0) checkLog(readStore(db))
  db.exec('BEGIN IMMEDIATE')
  for (const sql of MIGRATIONS.slice(version)) db.exec(sql)
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
  db.exec('COMMIT')
}

function readHeader(db: Database): Header {
  const [version, owner, tables] = tellAll(db, [
    'SELECT tell(user_version) FROM pragma_user_version',
    'SELECT tell(application_id) FROM pragma_application_id',
    'SELECT tell(count(*)) FROM sqlite_schema',
  ]) as [number, number, number]
  return { version, owner, isEmpty: tables === 0 }
}

function readStore(db: Database): LoggedStore {
  const [id, checkpointed] = tellAll(db, [
    'SELECT tell(id) FROM store',
    'SELECT tell(carried) FROM store',
  ]) as [Uint8Array, number]
  return { id, checkpointed }
}

/**
 * Told through a function, not by a prepared statement: a file that is refused has to be closed at
 * once, and a statement may keep it open (see `closeDatabase`).
 */
function tellAll(db: Database, queries: readonly string[]): SqlValue[] {
  const told: SqlValue[] = []
  db.function('tell', (value) => {
    // The memory of bytes may be the driver's.
    told.push(value instanceof Uint8Array ? Uint8Array.from(value) : value)
    return null
  })
  for (const query of queries) db.exec(query)
  return told
}
