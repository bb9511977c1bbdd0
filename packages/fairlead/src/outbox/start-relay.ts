import { existsSync } from 'node:fs'
import { connect } from '@fairlead/client'
import { FairleadError, invalidParams } from '@fairlead/core/errors'
import { isSqlite, type PostgresPool, type SqliteDatabase } from './clients.ts'
import { PostgresRows } from './postgres-rows.ts'
import { type Relay, type RelayOptions, type RequestSink, RowRelay } from './relay.ts'
import type { RowSource } from './row-source.ts'
import { SqliteRows } from './sqlite-rows.ts'

export interface StartRelayOptions extends RelayOptions {
  /** The database with the outbox: `postgres://…`, the path of a SQLite file, a `Pool` of `pg`, or a SQLite database. */
  readonly from: string | PostgresPool | SqliteDatabase
  /** The server: its address, address and token, or anything with `enqueue`. */
  readonly to: string | { readonly url: string; readonly token?: string } | RequestSink
}

/** Rows that PostgreSQL holds locked must not wait long for a server that is away. */
const CALL_MS = 5_000
/** A lock of another writer of the same SQLite file is waited for so long. */
const LOCK_MS = 250

/**
 * Moves the jobs of an outbox to a server until it is stopped. Any number of relays may run. Resolves once the table
 * was found; a server that is away is waited for.
 */
export async function startRelay({ from, to, ...options }: StartRelayOptions): Promise<Relay> {
  const rows = await openRows(from)
  try {
    // A wrong address or a missing table is told to whoever starts it.
    await rows.turn(0, async () => ({ answered: [], refused: [] }))
  } catch (cause) {
    await rows.close()
    if (cause instanceof FairleadError) throw cause
    const text = `from: the database of the outbox cannot be used (${(cause as Error).message}); look at its address and rights`
    throw new FairleadError('StoreUnavailable', text, { field: 'from' }, { cause })
  }
  const sink = openSink(to)
  const relay = new RowRelay(rows, sink, options)
  let closed: Promise<void> | null = null
  const close = async (): Promise<void> => {
    await sink.close()
    await rows.close()
  }
  return {
    get counts() {
      return relay.counts
    },
    idle: () => relay.idle(),
    async stop(graceMs) {
      await relay.stop(graceMs)
      closed ??= close()
      await closed
    },
  }
}

async function openRows(from: StartRelayOptions['from']): Promise<RowSource> {
  if (typeof from !== 'string') {
    if (isSqlite(from)) return new SqliteRows(from)
    if ('connect' in from && 'totalCount' in from) return new PostgresRows(from)
    throw invalidParams('from', 'a Pool of pg, a SQLite database, or an address or path as text')
  }
  if (/^postgres(?:ql)?:\/\//.test(from)) return openPostgres(from)
  if (from.includes('://')) throw invalidParams('from', 'postgres://… or the path of a SQLite file')
  if (!existsSync(from)) throw invalidParams('from', 'a SQLite file that is there', from)
  const { openDatabase } = await import('@fairlead/store/internal')
  const db = openDatabase(from, LOCK_MS)
  return new SqliteRows(db, () => db.close())
}

async function openPostgres(url: string): Promise<RowSource> {
  const { default: pg } = await import('pg').catch((cause: unknown) => {
    const text = 'from: expected the package pg beside fairlead; install it with npm install pg'
    throw new FairleadError('InvalidParams', text, { field: 'from' }, { cause })
  })
  const pool = new pg.Pool({ connectionString: url, max: 1, application_name: 'fairlead outbox' })
  // A connection that ends while it is in use is noticed there.
  pool.on('error', () => {})
  return new PostgresRows(pool, () => pool.end())
}

function openSink(to: StartRelayOptions['to']): RequestSink & { close(): Promise<void> } {
  if (typeof to === 'object' && 'enqueue' in to) {
    return { enqueue: (request) => to.enqueue(request), close: async () => {} }
  }
  const { url, token } = typeof to === 'string' ? { url: to, token: undefined } : to
  return connect(url, { token, timeoutMs: CALL_MS })
}
