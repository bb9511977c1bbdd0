import { isBuiltin } from 'node:module'

/**
 * The seam between the store and its driver. Both drivers have this interface: `node:sqlite` where
 * Node has it, else a package with the same calls and SQLite inside.
 */
export type SqlValue = null | number | string | Uint8Array

export type Columns = Readonly<Record<string, SqlValue>>

export interface Statement {
  run(...params: readonly SqlValue[]): { readonly changes: number | bigint }
  get(...params: readonly (SqlValue | Columns)[]): Columns | undefined
  all(...params: readonly (SqlValue | Columns)[]): Columns[]
  iterate(...params: readonly SqlValue[]): Iterable<Columns>
}

export interface Database {
  readonly isTransaction: boolean
  exec(sql: string): void
  prepare(sql: string): Statement
  function(name: string, call: (...values: SqlValue[]) => SqlValue): void
  close(): void
}

interface Driver {
  DatabaseSync: new (path: string, options: { readonly timeout: number }) => Database
}

// Not a literal, because the types of older Nodes do not know the module.
const builtin: string = 'node:sqlite'
const ofNode = isBuiltin(builtin) ? ((await import(builtin)) as Driver) : null
/** The first versions of `node:sqlite` cannot tell whether a transaction is open. */
const isOfNode = ofNode !== null && 'isTransaction' in ofNode.DatabaseSync.prototype
const { DatabaseSync } = isOfNode ? ofNode : ((await import('@photostructure/sqlite')) as Driver)

/** Opens a file without waiting for locks: who holds this one holds it until it stops. */
export function openDatabase(path: string): Database {
  return new DatabaseSync(path, { timeout: 0 })
}

/**
 * Closes a file and gives up its lock. Without `node:sqlite` a connection lives on until the last of
 * its prepared statements is collected, so that here the lock is given up before the connection.
 */
export function closeDatabase(db: Database): void {
  if (!isOfNode) {
    try {
      db.exec('PRAGMA journal_mode = DELETE')
      db.exec('PRAGMA locking_mode = NORMAL')
      // A lock goes with the next access, not before.
      db.exec('SELECT 1 FROM sqlite_schema')
    } catch {
      // On a full or failing disk the log stays what it is: whole. The lock goes with the process.
    }
  }
  db.close()
}

/** SQLite's extended result code (its low byte is the primary one), or null for any other error. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode : null
}
