import { readdirSync, readFileSync } from 'node:fs'
import { STORE } from '../rows/rows.ts'
import { unavailable } from '../unavailable.ts'
import { type Database, told } from './driver.ts'
import { renewSums } from './tables/renew-sums.ts'

/** Marks a file as a Fairlead store: "FLD1". */
export const APPLICATION_ID = 0x464c4431

const FOLDER = new URL('../../src/sqlite/migrations/', import.meta.url)

/** The first version with these tables. Stores of the one before it are copied row by row; see from-4. */
const FIRST_VERSION = 5

/** From that version on; forward only, and never edited once released. */
const MIGRATIONS = readdirSync(FOLDER)
  .filter((name) => /^\d{4}-.*\.sql$/.test(name))
  .sort()
  .map((name) => readFileSync(new URL(name, FOLDER), 'utf8'))

export const SCHEMA_VERSION = FIRST_VERSION + MIGRATIONS.length - 1

/** The version of a file; 0 for a new one. Refuses a file that is not ours to write, before anything is written (STORE-11). */
export function versionOf(db: Database, path: string): number {
  const [version, owner, tables] = [
    'SELECT tell(user_version) FROM pragma_user_version',
    'SELECT tell(application_id) FROM pragma_application_id',
    'SELECT tell(count(*)) FROM sqlite_schema',
  ].map((query) => told(db, query)[0]?.[0]) as [number, number, number]
  if (owner !== APPLICATION_ID && !(owner === 0 && tables === 0)) {
    throw unavailable(
      path,
      'not_a_store',
      'it is the database of another program; give the path of a store, or of a file that does not exist yet',
    )
  }
  if (version > SCHEMA_VERSION) {
    throw unavailable(
      path,
      'newer_schema',
      `its schema is version ${version}, and this Fairlead knows versions up to ${SCHEMA_VERSION}; ` +
        'start it with the newer Fairlead that wrote it',
      { details: { version, newest: SCHEMA_VERSION } },
    )
  }
  return version
}

/** Makes the tables in a new file, in one transaction. */
export function makeTables(db: Database): void {
  db.exec('BEGIN IMMEDIATE')
  addMigrations(db, 0)
  renewSums(db, STORE)
  db.exec('COMMIT')
}

/** Changes a new file, or one from version 5 on, to the newest schema. The transaction is the caller's. */
export function addMigrations(db: Database, version: number): void {
  for (const sql of MIGRATIONS.slice(Math.max(0, version + 1 - FIRST_VERSION))) db.exec(sql)
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
}
