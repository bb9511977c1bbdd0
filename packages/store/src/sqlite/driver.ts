import { createRequire, isBuiltin } from 'node:module'

/**
 * The seam between the store and its driver. Both drivers have this interface: `node:sqlite` if Node has it in a
 * version that can do this, else a package with the same calls and SQLite inside.
 */
export type SqlValue = null | number | string | Uint8Array

export type NamedValues = Readonly<Record<string, SqlValue>>

/** Rows are lists of their columns: objects take twice as long. */
export interface Statement {
  run(...params: readonly (SqlValue | NamedValues)[]): { readonly changes: number | bigint }
  get(...params: readonly (SqlValue | NamedValues)[]): SqlValue[] | undefined
  all(...params: readonly (SqlValue | NamedValues)[]): SqlValue[][]
  setReturnArrays(isOn: boolean): void
}

export interface Database {
  readonly isTransaction: boolean
  exec(sql: string): void
  prepare(sql: string): Statement
  function(
    name: string,
    options: { readonly varargs: boolean },
    call: (...values: SqlValue[]) => SqlValue,
  ): void
  close(): void
}

interface DriverOptions {
  readonly timeout: number
  readonly readOnly?: boolean
}

interface Driver {
  DatabaseSync: new (path: string, options: DriverOptions) => Database
}

interface DriverOfNode extends Driver {
  StatementSync: new () => Statement
}

// Loaded by `require`, so that this module can itself be required: a top-level await would forbid that.
const load = createRequire(import.meta.url)
const builtin = 'node:sqlite'
const ofNode = isBuiltin(builtin) ? (load(builtin) as DriverOfNode) : null
/** The first versions of `node:sqlite` return objects only, and cannot tell if a transaction is open. */
const isOfNode =
  ofNode !== null &&
  'isTransaction' in ofNode.DatabaseSync.prototype &&
  'setReturnArrays' in ofNode.StatementSync.prototype
const { DatabaseSync } = isOfNode ? ofNode : (load('@photostructure/sqlite') as Driver)

/** Opens a file. A lock of another process is waited for as long as `timeoutMs`. */
export function openDatabase(path: string, timeoutMs = 0): Database {
  return new DatabaseSync(path, { timeout: timeoutMs })
}

/**
 * Opens a file to look at it. A connection that may write would copy what it finds in the write-ahead log into the file when
 * it closes, whatever that is.
 */
export function openReadOnly(path: string): Database {
  return new DatabaseSync(path, { timeout: 0, readOnly: true })
}

/**
 * The rows that a query gives to a function: `SELECT tell(a, b) FROM t`. A connection that has prepared statements may stay
 * open until these are collected, so a file that may be refused is read without any.
 */
export function told(db: Database, query: string): SqlValue[][] {
  const rows: SqlValue[][] = []
  // The memory of bytes may be the driver's.
  const copy = (value: SqlValue): SqlValue => (value instanceof Uint8Array ? value.slice() : value)
  tell(db, query, (row) => rows.push(row.map(copy)))
  return rows
}

/** Gives these rows one by one. Their bytes are good until the call returns. */
export function tell(db: Database, query: string, take: (row: SqlValue[]) => void): void {
  db.function('tell', { varargs: true }, (...values) => {
    take(values)
    return null
  })
  db.exec(query)
}

/** A statement whose rows are lists. */
export function prepare(db: Database, sql: string): Statement {
  const statement = db.prepare(sql)
  statement.setReturnArrays(true)
  return statement
}

/** SQLite's extended result code (its low byte is the primary one), or null for any other error. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode : null
}
