import { mkdtempSync, rmSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { EnqueueRequest } from '@fairlead/client'
import { openDatabase } from '@fairlead/store/internal'
import { type Postgres, startPostgres } from '@fairlead/testkit/postgres'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createOutbox,
  enqueueInTransaction,
  outboxSql,
  type Relay,
  type SqliteDatabase,
  startRelay,
} from '../../dist/outbox/index.js'

/** In the place of a server: what it was sent. */
class Sink {
  readonly sent: EnqueueRequest[] = []
  #wanted = 0
  #tell = (): void => {}

  async enqueue(request: EnqueueRequest): Promise<void> {
    this.sent.push(request)
    if (this.sent.length >= this.#wanted) this.#tell()
  }

  /** Resolves when so many requests have come in all. */
  has(count: number): Promise<void> {
    if (this.sent.length >= count) return Promise.resolve()
    this.#wanted = count
    return new Promise((resolve) => {
      this.#tell = resolve
    })
  }
}

let sink: Sink
let relay: Relay | null = null
beforeEach(() => {
  sink = new Sink()
})
afterEach(async () => {
  await relay?.stop()
  relay = null
})

describe('PostgreSQL', () => {
  /** Longer than any test: only a notice ends it. */
  const NEVER_MS = 2_000_000_000
  let folder: string
  let postgres: Postgres
  let pool: pg.Pool
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-outbox-drivers-'))
    postgres = await startPostgres(join(folder, 'data'))
    pool = new pg.Pool({ connectionString: (await postgres.createDatabase()).url })
    // A test ends connections of it.
    pool.on('error', () => {})
  })
  beforeEach(async () => {
    await pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
  })
  afterAll(async () => {
    await pool.end()
    await postgres.stop()
    rmSync(folder, { recursive: true })
  })

  async function write(data: object): Promise<void> {
    const client = await pool.connect()
    await client.query('BEGIN')
    await enqueueInTransaction(client, 'email', data)
    await client.query('COMMIT')
    client.release()
  }

  it('OUTBOX-1: a pool is no place for a transaction', async () => {
    await createOutbox(pool)
    await expect(enqueueInTransaction(pool, 'email', {})).rejects.toMatchObject({
      code: 'InvalidParams',
      details: { field: 'client' },
    })
    const { rows } = await pool.query('SELECT * FROM fairlead_outbox')
    expect(rows).toEqual([])
  })

  it('OUTBOX-8: rows that one relay holds are not sent by another', async () => {
    await createOutbox(pool)
    for (const n of [1, 2, 3]) await write({ n })
    const slow = { enqueue: () => new Promise(() => {}) }
    const first = await startRelay({ from: pool, to: slow, batch: 1 })
    // The locks of a turn are there when its rows are.
    while ((await held()) === 0) await setImmediate()
    relay = await startRelay({ from: pool, to: sink })
    await sink.has(2)
    const idle = relay.idle().then(() => 'idle')
    expect(sink.sent.map(({ payload }) => payload)).toMatchObject([
      { args: { n: 2 } },
      { args: { n: 3 } },
    ])
    // Until its row is answered, not all is done.
    expect(await Promise.race([idle, first.stop(50).then(() => 'stopped')])).toBe('stopped')
    expect(await idle).toBe('idle')
    expect((await pool.query('SELECT * FROM fairlead_outbox')).rows).toEqual([])
  })

  /** Rows that somebody holds. */
  async function held(): Promise<number> {
    const free = 'SELECT id FROM fairlead_outbox FOR UPDATE SKIP LOCKED'
    const { rows } = await pool.query(
      `SELECT (SELECT count(*) FROM fairlead_outbox) - count(*) AS n FROM (${free}) AS free`,
    )
    return Number(rows[0].n)
  }

  it('OUTBOX-9: a relay whose connection was ended takes another', async () => {
    await createOutbox(pool)
    relay = await startRelay({ from: pool, to: sink, pollMs: 20, onError: () => {} })
    await relay.idle()
    await pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE pid <> pg_backend_pid() AND datname = current_database()`,
    )
    await write({ n: 1 })
    await sink.has(1)
  })

  it('OUTBOX-10: with notify a commit wakes the relay', async () => {
    await createOutbox(pool, { notify: true })
    // It changes nothing that is there.
    await createOutbox(pool, { notify: true })
    relay = await startRelay({ from: pool, to: sink, pollMs: NEVER_MS })
    await relay.idle()
    for (const n of [1, 2]) {
      await write({ n })
      await sink.has(n)
    }
  })

  it('OUTBOX-10: without notify the relay looks again after a while', async () => {
    await createOutbox(pool)
    relay = await startRelay({ from: pool, to: sink, pollMs: 1 })
    await relay.idle()
    await write({ n: 1 })
    await sink.has(1)
  })

  it('OUTBOX-12: a database that is not there is told at the start', async () => {
    const away = startRelay({ from: 'postgres://nobody@127.0.0.1:1/none', to: sink })
    await expect(away).rejects.toMatchObject({
      code: 'StoreUnavailable',
      message: expect.stringContaining('ECONNREFUSED'),
    })
  })
})

interface Openable extends SqliteDatabase {
  close(): void
}

const builtin: string = 'node:sqlite'
const DRIVERS: readonly (readonly [string, () => Promise<Openable>])[] = [
  ['the driver of the store', async () => openDatabase(':memory:') as unknown as Openable],
  ...(isBuiltin(builtin)
    ? [['node:sqlite', async () => new (await import(builtin)).DatabaseSync(':memory:')] as const]
    : []),
]

describe.each(DRIVERS)('SQLite: %s', (_, open) => {
  let db: Openable
  beforeEach(async () => {
    db = await open()
    createOutbox(db)
  })
  afterEach(async () => {
    await relay?.stop()
    db.close()
  })

  it('OUTBOX-1: there has to be a transaction', () => {
    expect(() => enqueueInTransaction(db, 'email', {})).toThrow('client: expected a database with')
    db.exec('BEGIN')
    expect(enqueueInTransaction(db, 'email', {}).key).toMatch(/^[0-9a-f-]{36}$/)
    db.exec('COMMIT')
  })

  it('OUTBOX-1: on the connection of the application too, a transaction that is open is let be', async () => {
    relay = await startRelay({ from: db, to: sink, pollMs: 1 })
    db.exec('BEGIN')
    enqueueInTransaction(db, 'email', { n: 1 })
    for (let turn = 0; turn < 20; turn++) await setImmediate()
    db.exec('ROLLBACK')
    db.exec('BEGIN')
    enqueueInTransaction(db, 'email', { n: 2 })
    db.exec('COMMIT')
    await sink.has(1)
    expect(sink.sent.map(({ payload }) => payload)).toMatchObject([{ args: { n: 2 } }])
  })

  it('OUTBOX-10: SQLite has no notices', () => {
    expect(() => outboxSql('sqlite', { notify: true })).toThrow('notify: expected PostgreSQL')
  })

  it('OUTBOX-12: an address of nothing that is known is refused', async () => {
    const unknown = startRelay({ from: 'mysql://db/shop', to: sink })
    await expect(unknown).rejects.toMatchObject({ details: { field: 'from' } })
    const client = { query: async () => ({ rows: [] }) }
    const notPool = startRelay({ from: client as never, to: sink })
    await expect(notPool).rejects.toMatchObject({ details: { field: 'from' } })
  })
})
