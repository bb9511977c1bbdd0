import { readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../src/sqlite/driver.ts'

const FOLDER = join(import.meta.dirname, '..', 'src', 'sqlite', 'migrations')
const APPLICATION_ID = 0x464c4431

/**
 * Turns a closed store into a file of an older schema, made by the migrations of that time. Values that its columns
 * cannot hold are lost; its log stays as it is.
 */
export function makeOlder(path: string, version: number): void {
  const older = `${path}-older`
  const db = openDatabase(older)
  const migrations = readdirSync(FOLDER).sort().slice(0, version)
  for (const name of migrations) db.exec(readFileSync(join(FOLDER, name), 'utf8'))
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  db.exec(`ATTACH '${path}' AS newer`)
  for (const { name } of tables) {
    const columns = db.prepare(`SELECT name FROM pragma_table_info('${String(name)}')`).all()
    const list = columns.map((column) => column['name']).join(', ')
    db.exec(`DELETE FROM main.${String(name)}`)
    db.exec(`INSERT INTO main.${String(name)} (${list}) SELECT ${list} FROM newer.${String(name)}`)
  }
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
  db.exec(`PRAGMA user_version = ${version}`)
  db.exec('DETACH newer')
  db.close()
  renameSync(older, path)
}
