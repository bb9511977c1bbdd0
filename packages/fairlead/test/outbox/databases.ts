import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@fairlead/store/internal'
import { startPostgres } from '@fairlead/testkit/postgres'
import pg from 'pg'
import { createOutbox, enqueueInTransaction, type OutboxOptions } from '../../dist/outbox/index.js'

export interface StoredRow {
  readonly idempotency_key: string
  readonly request: string
  readonly refusal: string | null
}

/** A transaction of the application, as a test uses it. */
export interface Transaction {
  enqueue(name: string, data?: unknown, options?: OutboxOptions): Promise<{ readonly key: string }>
  sql(text: string): Promise<void>
}

/** A database of an application, with an outbox in it. */
export interface AppDatabase {
  /** As a relay is given it. */
  readonly from: string
  /** Commits, unless `act` throws. */
  transaction<T>(act: (transaction: Transaction) => Promise<T>): Promise<T>
  /** All rows of the outbox, by id. */
  rows(): Promise<readonly StoredRow[]>
  sql(text: string): Promise<void>
  close(): Promise<void>
}

/** Databases of one kind, each fresh. */
export interface AppDatabases {
  open(): Promise<AppDatabase>
  close(): Promise<void>
}

const ROWS = 'SELECT idempotency_key, request, refusal FROM fairlead_outbox ORDER BY id'

export async function sqliteDatabases(): Promise<AppDatabases> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-outbox-'))
  let count = 0
  return {
    async open() {
      const from = join(folder, `app-${count++}.db`)
      const db = openDatabase(from, 5_000)
      db.exec('PRAGMA journal_mode = WAL')
      createOutbox(db)
      return {
        from,
        async transaction(act) {
          db.exec('BEGIN IMMEDIATE')
          try {
            const result = await act({
              enqueue: async (...job) => enqueueInTransaction(db, ...job),
              sql: async (text) => db.exec(text),
            })
            db.exec('COMMIT')
            return result
          } catch (error) {
            db.exec('ROLLBACK')
            throw error
          }
        },
        rows: async () => db.prepare(ROWS).all() as unknown as StoredRow[],
        sql: async (text) => db.exec(text),
        close: async () => db.close(),
      }
    },
    close: async () => rmSync(folder, { recursive: true }),
  }
}

/** One database, made empty each time: to create another takes longer than most tests. */
export async function postgresDatabases(): Promise<AppDatabases> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-outbox-postgres-'))
  const server = await startPostgres(join(folder, 'data'))
  const { url } = await server.createDatabase()
  const pool = new pg.Pool({ connectionString: url })
  // The server may stop before the last connection has said goodbye.
  pool.on('error', () => {})
  return {
    async open() {
      await pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
      await createOutbox(pool)
      return {
        from: url,
        transaction: (act) => transaction(pool, act),
        rows: async () => (await pool.query(ROWS.replace('request', 'request::text'))).rows,
        sql: async (text) => void (await pool.query(text)),
        close: async () => {},
      }
    },
    async close() {
      await pool.end()
      await server.stop()
      rmSync(folder, { recursive: true })
    },
  }
}

async function transaction<T>(pool: pg.Pool, act: (of: Transaction) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const result = await act({
      enqueue: (...job) => enqueueInTransaction(client, ...job),
      sql: async (text) => void (await client.query(text)),
    })
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}
