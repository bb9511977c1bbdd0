/** The parts of other people's clients that the outbox uses. The clients themselves are passed in. */

/** A connection of `pg`, or anything that answers like one. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>
}

/** A `Pool` of `pg`. A relay holds one connection of it. */
export interface PostgresPool {
  connect(): Promise<PooledClient>
}

export interface PooledClient extends PostgresClient {
  on(event: 'notification' | 'error' | 'end', listener: () => void): unknown
  /** With true the connection is closed and does not go back into the pool. */
  release(isBroken?: boolean): void
}

/** A database of `better-sqlite3`, `node:sqlite`, or a driver with the same calls. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): {
    run(...values: (string | number | null)[]): unknown
    all(...values: (string | number | null)[]): unknown[]
  }
  /** `node:sqlite` tells here if a transaction is open. */
  readonly isTransaction?: boolean
  /** `better-sqlite3` tells here. */
  readonly inTransaction?: boolean
}

export function isSqlite(client: object): client is SqliteDatabase {
  return 'prepare' in client && 'exec' in client
}

/** Null where the driver does not tell. */
export function hasTransaction(db: SqliteDatabase): boolean | null {
  return db.isTransaction ?? db.inTransaction ?? null
}
