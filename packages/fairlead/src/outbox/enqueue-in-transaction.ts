import { invalidParams } from '@fairlead/core/errors'
import { hasTransaction, isSqlite, type PostgresClient, type SqliteDatabase } from './clients.ts'
import { type OutboxOptions, rowOf, type WrittenRow } from './row-of.ts'
import { POSTGRES, SQLITE } from './statements.ts'
import { tableMissing } from './table-missing.ts'

/** A job that is in the outbox. */
export interface OutboxReceipt {
  /** Finds the job once it is enqueued. */
  readonly key: string
}

/**
 * Writes a job into the outbox, as part of the transaction that the client is in: it is enqueued if and only if that
 * commits. A request that a server would refuse is refused here, before anything is written.
 */
export function enqueueInTransaction(
  client: SqliteDatabase,
  name: string,
  data?: unknown,
  options?: OutboxOptions,
): OutboxReceipt
export function enqueueInTransaction(
  client: PostgresClient,
  name: string,
  data?: unknown,
  options?: OutboxOptions,
): Promise<OutboxReceipt>
export function enqueueInTransaction(
  client: SqliteDatabase | PostgresClient,
  name: string,
  data: unknown = {},
  options: OutboxOptions = {},
): OutboxReceipt | Promise<OutboxReceipt> {
  const row = (): WrittenRow => rowOf(name, data, options, Date.now())
  // The drivers of SQLite run a transaction in one turn: a promise would come too late.
  return isSqlite(client) ? writeToSqlite(client, row()) : writeToPostgres(client, row)
}

function writeToSqlite(db: SqliteDatabase, { key, request }: WrittenRow): OutboxReceipt {
  if (hasTransaction(db) === false) {
    throw invalidParams('client', 'a database with a transaction open; begin one first')
  }
  try {
    db.prepare(SQLITE.write).run(key, request)
  } catch (error) {
    throw (error as Error).message.includes('no such table') ? tableMissing(error) : error
  }
  return { key }
}

async function writeToPostgres(
  client: PostgresClient,
  row: () => WrittenRow,
): Promise<OutboxReceipt> {
  if ('totalCount' in client) {
    const why = 'the client that is in the transaction; each query of a pool may go elsewhere'
    throw invalidParams('client', why, 'a pool')
  }
  const { key, request } = row()
  try {
    await client.query(POSTGRES.write, [key, request])
  } catch (error) {
    throw (error as { readonly code?: unknown }).code === '42P01' ? tableMissing(error) : error
  }
  return { key }
}
