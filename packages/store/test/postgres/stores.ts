import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Log, NO_ROWS, type Tables } from '@fairlead/core/internal'
import { startPostgres } from '@fairlead/testkit/postgres'
import pg from 'pg'
import type { OpenLog } from '../../src/conformance/log-conformance.ts'
import type { OpenTables } from '../../src/conformance/tables-conformance.ts'
import { openPostgresStore, type PostgresStore } from '../../src/postgres/postgres-store.ts'
import { recordOf } from '../open-logged.ts'
import { QueryProxy } from './query-proxy.ts'

/** A server, and a database of it for one store after the other. */
export interface PostgresStores {
  readonly url: string
  readonly client: pg.Client
  /** Empties the store, so that the next opening finds a new one. To make another schema takes longer than most tests. */
  readonly empty: () => Promise<void>
  readonly close: () => Promise<void>
}

const TABLES = [
  ...['jobs', 'payloads', 'leases', 'results', 'kept_results', 'failures', 'journal', 'providers'],
  ...['shares', 'lanes', 'rounds', 'settlements', 'settlement_parts', 'meta', 'log'],
]

const EMPTY = [
  ...TABLES.map((table) => `DELETE FROM fairlead.${table}`),
  'INSERT INTO fairlead.log VALUES (0, 0, 0, 0, NULL)',
  `UPDATE fairlead.store SET batch = 0, writes = 0, journal_first = 1, journal_last = 0,
     journal_before = decode(repeat('00', 32), 'hex'), journal_hash = decode(repeat('00', 32), 'hex'),
     prune_ended = NULL, prune_results = NULL`,
].join(';')

export async function startStores(): Promise<PostgresStores> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-store-postgres-'))
  const server = await startPostgres(join(folder, 'data'))
  const { url } = await server.createDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const first = await openPostgresStore({ url })
  await first.close()
  return {
    // What a commit survives is not what these tests are about.
    url: `${url}?options=${encodeURIComponent('-c synchronous_commit=off')}`,
    client,
    empty: async () => {
      await client.query(EMPTY)
    },
    close: async () => {
      await client.end()
      await server.stop()
      rmSync(folder, { recursive: true })
    },
  }
}

/** A new store for the suite of tables, whose log is always ahead of them. */
export async function openTables({ url, empty }: PostgresStores): Promise<OpenTables> {
  await empty()
  let store = await openPostgresStore({ url })
  const logged = (): Tables => {
    const { log, tables } = store
    return {
      read: tables.read,
      load: () => tables.load(),
      keyPrints: (afterSeq, limit) => tables.keyPrints(afterSeq, limit),
      apply: async (rows, batch) => {
        for (let n = log.end.batch + 1; n <= batch; n++) await log.append(recordOf(n))
        return tables.apply(rows, batch)
      },
      sync: () => tables.sync(),
      scrub: () => tables.scrub(),
      close: () => store.close(),
    }
  }
  const reopen = async (): Promise<Tables> => {
    await store.close()
    store = await openPostgresStore({ url })
    return logged()
  }
  // The server is in another process, so a killed one leaves what a closed one does.
  return { tables: logged(), reopen, crash: reopen, remove: () => store.close() }
}

/** The statements of an append: the insert, and what is read before it on a new connection. */
const APPEND = ['append-batches\0', 'find-records\0']

/** A new log behind a batch. Its appends go through a proxy that can cut them off. */
export async function openLog(
  { url, client, empty }: PostgresStores,
  after: number,
): Promise<OpenLog> {
  await empty()
  await client.query('UPDATE fairlead.log SET seq = $1', [after])
  await client.query('UPDATE fairlead.store SET batch = $1', [after])
  const proxy = await QueryProxy.open(url, APPEND)
  let store: PostgresStore = await openPostgresStore({ url: proxy.url })
  /** Only what the tables have is trimmed. */
  const projected = (): Log => {
    const { log, tables } = store
    return {
      get end() {
        return log.end
      },
      append: (record) => log.append(record),
      read: (afterBatch) => log.read(afterBatch),
      trim: async (upTo) => {
        if (upTo <= log.end.batch) await tables.apply(NO_ROWS, Math.max(upTo, await tables.sync()))
        await log.trim(upTo)
      },
      scrub: () => log.scrub(),
      close: () => store.close(),
    }
  }
  const reopen = async (): Promise<Log> => {
    proxy.cut(0)
    await store.close()
    store = await openPostgresStore({ url: proxy.url })
    return projected()
  }
  return {
    log: projected(),
    reopen,
    crash: reopen,
    fail: (fault, times) => proxy.cut(times, fault === 'late' ? 'after' : 'before'),
    remove: async () => {
      await store.close()
      await proxy.close()
    },
  }
}
