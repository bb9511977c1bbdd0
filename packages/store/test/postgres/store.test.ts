import { brokenSeq } from '@fairlead/core'
import { NO_ROWS } from '@fairlead/core/internal'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { recordsOf, sampleRecord } from '../../src/conformance/sample-records.ts'
import { batchOf, newJob, sampleEntry, sampleJob } from '../../src/conformance/sample-rows.ts'
import { addressOf, configOf, shownUrl } from '../../src/postgres/address.ts'
import { asPostgresError } from '../../src/postgres/errors.ts'
import {
  lookAtPostgresStore,
  openPostgresStore,
  type PostgresStore,
  pendingMigrations,
} from '../../src/postgres/postgres-store.ts'
import { QueryProxy } from './query-proxy.ts'
import { type PostgresStores, startStores } from './stores.ts'

let stores: PostgresStores
/** With the server's own settings: what is answered survives a crash. */
let url: string
const open: PostgresStore[] = []

beforeAll(async () => {
  stores = await startStores()
  url = stores.url.replace(/\?.*$/, '')
})
beforeEach(() => stores.empty())
afterAll(async () => {
  await Promise.all(open.map((store) => store.close()))
  await stores.close()
})

async function opened(at = url, node = 'a'): Promise<PostgresStore> {
  const store = await openPostgresStore({ url: at, node })
  open.push(store)
  return store
}

/** A job and its entry. */
const rowsOf = (n: number) =>
  batchOf({ newJobs: [newJob(sampleJob(n))], journal: [sampleEntry(n, { jobSeq: n })] })

async function seqsIn(store: PostgresStore): Promise<number[]> {
  const jobs = await store.read.jobs({ afterSeq: 0, limit: 100 })
  return jobs.map(({ seq }) => seq)
}

describe('who leads', () => {
  it('LEADER-1: a process that opens the store takes over, and the one before writes nothing more', async () => {
    const first = await opened()
    await first.log.append(sampleRecord(1))
    await first.tables.apply(rowsOf(1), 1)
    const second = await opened(url, 'b')
    expect(second.report.epoch).toBe(first.report.epoch + 1)
    const refusal = {
      code: 'StoreUnavailable',
      message: expect.stringMatching(/another node leads since .*\(b\)/),
      details: { reason: 'not_leader', node: 'b', epoch: second.report.epoch },
    }
    await expect(first.log.append(sampleRecord(2))).rejects.toMatchObject(refusal)
    await expect(first.tables.apply(rowsOf(2), 2)).rejects.toMatchObject(refusal)
    await expect(first.log.trim(1)).rejects.toMatchObject(refusal)
    // Nothing is there of it, and the new one goes on behind what was answered.
    expect(second.log.end).toEqual({ batch: 1, digest: sampleRecord(1).digest })
    await second.log.append({ ...sampleRecord(2), digest: 7 })
    await second.tables.apply(rowsOf(2), 2)
    expect(await seqsIn(second)).toEqual([1, 2])
    // It never leads again, not even for the same record.
    await expect(first.log.append(sampleRecord(2))).rejects.toMatchObject(refusal)
    // It may still read.
    expect(await recordsOf(first.log)).toHaveLength(1)
    expect(await seqsIn(first)).toEqual([1, 2])
  })

  it('LEADER-1: a paused leader cannot take a number of a log that was trimmed meanwhile', async () => {
    const first = await opened()
    await first.log.append(sampleRecord(1))
    const second = await opened(url, 'b')
    for (const n of [2, 3]) await second.log.append(sampleRecord(n))
    await second.tables.apply(NO_ROWS, 3)
    await second.log.trim(3)
    await expect(first.log.append(sampleRecord(2))).rejects.toMatchObject({
      details: { reason: 'not_leader' },
    })
    expect(second.log.end).toEqual({ batch: 3, digest: null })
    await second.log.append(sampleRecord(4))
    expect(await recordsOf(second.log, 3)).toEqual([sampleRecord(4)])
  })

  it('LEADER-1: a takeover waits for an append under way, and has its record', async () => {
    const first = await opened()
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    // The append waits behind this lock in the middle of its statement.
    await other.query('BEGIN; SELECT FROM fairlead.log WHERE seq = 0 FOR UPDATE')
    await other.query(`INSERT INTO fairlead.log VALUES (0, 1, ${first.report.epoch}, 9, 'x')`)
    const appending = first.log.append(sampleRecord(1))
    appending.catch(() => {})
    await waiting(1)
    const opening = opened(url, 'b')
    await waiting(2)
    await other.query('ROLLBACK')
    await appending
    const second = await opening
    expect(second.log.end.batch).toBe(1)
    await other.end()
  })

  it('LOG-15: only what the tables have is trimmed', async () => {
    const { log, tables } = await opened()
    for (const n of [1, 2, 3]) await log.append(sampleRecord(n))
    await expect(log.trim(2)).rejects.toMatchObject({ details: { reason: 'not_durable' } })
    await tables.apply(NO_ROWS, 2)
    await log.trim(2)
    expect(await recordsOf(log, 2)).toEqual([sampleRecord(3)])
  })

  it('LOG-15: a server that went back to an older state is found out at the next append', async () => {
    const { log } = await opened()
    for (const n of [1, 2, 3]) await log.append(sampleRecord(n))
    await stores.client.query('DELETE FROM fairlead.log WHERE seq = 3')
    const refusal = { details: { reason: 'went_back', batch: 3 } }
    await expect(log.append(sampleRecord(4))).rejects.toMatchObject(refusal)
    await expect(log.append(sampleRecord(4))).rejects.toMatchObject(refusal)
  })

  it('LOG-6: a record that is missing in the middle is told by its number', async () => {
    const { log } = await opened()
    for (const n of [1, 2, 3]) await log.append(sampleRecord(n))
    await stores.client.query('DELETE FROM fairlead.log WHERE seq = 2')
    await expect(recordsOf(log)).rejects.toMatchObject({ details: { reason: 'damaged', batch: 2 } })
  })
})

/** Resolves when so many statements of stores wait for a lock or for a standby. */
async function waiting(count: number, event = '%'): Promise<void> {
  for (;;) {
    const { rows } = await stores.client.query(
      `SELECT count(*)::integer AS n FROM pg_stat_activity
       WHERE application_name LIKE 'fairlead %' AND wait_event_type IN ('Lock', 'IPC') AND state = 'active'
         AND wait_event LIKE $1`,
      [event],
    )
    if (rows[0]?.n >= count) return
  }
}

describe('lost answers', () => {
  it.each(['before', 'after'] as const)(
    'PG-3: an apply whose COMMIT is cut off (%s it is carried out) happens once',
    async (when) => {
      const proxy = await QueryProxy.open(url, ['COMMIT\0'])
      const store = await opened(proxy.url)
      await store.tables.apply(rowsOf(1), 1)
      proxy.cut(1, when)
      await store.tables.apply(rowsOf(2), 2)
      await store.tables.apply(rowsOf(3), 3)
      expect(await seqsIn(store)).toEqual([1, 2, 3])
      const journal = await store.read.journal(0, 10)
      expect(journal.map(({ seq }) => seq)).toEqual([1, 2, 3])
      expect(brokenSeq(journal)).toBeNull()
      // The server is away for longer: the caller gives the same rows again. One that was carried out is found at once.
      const fourth = rowsOf(4)
      proxy.cut(2, when)
      const applied = store.tables.apply(fourth, 4)
      if (when === 'after') await applied
      else await expect(applied).rejects.toMatchObject({ details: { reason: 'unreachable' } })
      proxy.cut(0)
      if (when === 'before') await store.tables.apply(fourth, 4)
      expect(await seqsIn(store)).toEqual([1, 2, 3, 4])
      await store.close()
      await proxy.close()
    },
  )

  it('PG-3: a backend that is terminated in the middle of a COMMIT loses nothing and repeats nothing', async () => {
    const store = await opened()
    await store.log.append(sampleRecord(1))
    await store.tables.apply(rowsOf(1), 1)
    // Commits wait for a standby that does not exist, so they can be met.
    await setting("synchronous_standby_names = 'nobody'")
    const append = store.log.append(sampleRecord(2))
    append.catch(() => {})
    const rows = rowsOf(2)
    const apply = store.tables.apply(rows, 2)
    apply.catch(() => {})
    await waiting(2, 'SyncRep')
    await stores.client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
    )
    await expect(append).rejects.toMatchObject({ details: { reason: 'unreachable' } })
    await setting("synchronous_standby_names = ''")
    // What was committed is found.
    await apply
    await store.log.append(sampleRecord(2))
    await store.log.append(sampleRecord(3))
    expect(await recordsOf(store.log)).toEqual([1, 2, 3].map((n) => sampleRecord(n)))
    expect(await seqsIn(store)).toEqual([1, 2])
    const journal = await store.read.journal(0, 10)
    expect(journal.map(({ seq }) => seq)).toEqual([1, 2])
  })
})

async function setting(text: string): Promise<void> {
  await stores.client.query(`ALTER SYSTEM SET ${text}`)
  await stores.client.query('SELECT pg_reload_conf()')
  // A new session has read it.
  const [name = '', value = ''] = text.split(' = ')
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query(`SHOW ${name}`)
    await client.end()
    if (rows[0]?.[name] !== value.replaceAll("'", '')) continue
    // The process that tells commits of standbys has read it when it has made a checkpoint.
    await stores.client.query('CHECKPOINT')
    return
  }
}

describe('address and schema', () => {
  it('PG-1: no message and no connection setting shows the password', () => {
    const address = addressOf({ url: 'postgres://ann:s3cret@db.example:6432/jobs?sslmode=require' })
    expect(address.shown).toBe('postgres://ann@db.example:6432/jobs (schema fairlead)')
    expect(shownUrl('postgresql:///jobs?host=/run/pg')).toBe('postgres:///run/pg/jobs')
    for (const wrong of ['postgres://ann:s3cret@:x/', 'mysql://ann:s3cret@db', 's3cret']) {
      const error = errorOf(() => addressOf({ url: wrong }))
      expect(error).toMatchObject({ code: 'InvalidParams', details: { field: 'url' } })
      expect(JSON.stringify([error.message, error.stack, error.cause])).not.toContain('s3cret')
    }
    expect(errorOf(() => addressOf({ url, schema: 'a"b' }))).toMatchObject({
      details: { field: 'schema' },
    })
  })

  it('PG-1: settings of the URL go over those of the store, and its options stay beside them', () => {
    const config = configOf(
      addressOf({ url: 'postgres://db/jobs?statement_timeout=5&options=-c%20work_mem%3D1MB' }),
      { purpose: 'log' },
    )
    expect(config.options).toBe('-c work_mem=1MB -c search_path=fairlead')
    expect(config.application_name).toBe('fairlead log')
    expect(config.connectionString).toBe('postgres://db/jobs?statement_timeout=5')
  })

  it('PG-2: what the first opening runs is told before, and runs once for all that open at the same time', async () => {
    const schema = 'together'
    expect(await pendingMigrations({ url, schema })).toEqual(['0001-store'])
    const all = await Promise.all(
      [1, 2, 3].map((n) => openPostgresStore({ url, schema, node: `n${n}` })),
    )
    expect(all.map(({ report }) => report.epoch).sort()).toEqual([1, 2, 3])
    expect(all.filter(({ report }) => report.isNew)).toHaveLength(1)
    expect(await pendingMigrations({ url, schema })).toEqual([])
    await Promise.all(all.map((store) => store.close()))
  })

  it('PG-2: a schema of a newer version, or of another program, is refused and left as it is', async () => {
    const { client } = stores
    await client.query(`CREATE SCHEMA newer; CREATE TABLE newer.version AS SELECT 99 AS version`)
    await client.query('CREATE SCHEMA strange; CREATE TABLE strange.things (id integer)')
    for (const [schema, reason] of [
      ['newer', 'newer_schema'],
      ['strange', 'not_a_store'],
    ] as const) {
      await expect(openPostgresStore({ url, schema })).rejects.toMatchObject({
        details: { reason },
      })
      const { rows } = await client.query('SELECT FROM pg_tables WHERE schemaname = $1', [schema])
      expect(rows).toHaveLength(1)
    }
  })

  it('PG-5: a look takes no lead and tells the settings of the server', async () => {
    const store = await opened()
    const { server, found, pending } = await lookAtPostgresStore({ url })
    expect(server).toMatchObject({
      fsync: true,
      synchronousCommit: 'on',
      standbys: 0,
      isStandby: false,
    })
    expect(server.version).toMatch(/^\d+/)
    expect(found).toMatchObject({ leader: { node: 'a', epoch: store.report.epoch } })
    expect(pending).toEqual([])
    await store.log.append(sampleRecord(1))
    expect(await lookAtPostgresStore({ url, schema: 'nothing' })).toMatchObject({ found: null })
  })
})

describe('trouble', () => {
  const refused = (at: string) =>
    openPostgresStore({ url: at }).then(
      (store) => store.close().then(() => null),
      (error: unknown) => error,
    )

  it('PG-4: says what is wrong with an address, a user, a database', async () => {
    const at = (change: Partial<Pick<URL, 'port' | 'password' | 'pathname'>>): string =>
      Object.assign(new URL(url), change).href
    const cases: readonly (readonly [string, string, RegExp])[] = [
      [at({ port: '1' }), 'unreachable', /check that it runs/],
      [at({ password: 'wr0ng' }), 'permission', /user or its password/],
      [at({ pathname: '/nowhere' }), 'cannot_open', /no such database/],
    ]
    for (const [wrong, reason, advice] of cases) {
      const error = await refused(wrong)
      expect(error).toMatchObject({
        code: 'StoreUnavailable',
        message: expect.stringMatching(advice),
        details: { reason },
      })
      expect(JSON.stringify(error)).not.toMatch(/private|wr0ng/)
      expect((error as Error).message).not.toMatch(/private|wr0ng/)
    }
  })

  it('PG-4: says that a user lacks rights', async () => {
    await stores.client.query(`CREATE ROLE guest LOGIN PASSWORD 'guest'`)
    const guest = new URL(url)
    guest.username = 'guest'
    guest.password = 'guest'
    expect(await refused(guest.href)).toMatchObject({ details: { reason: 'permission' } })
  })

  it('PG-4: says that a pooler takes prepared statements away', async () => {
    const error = await stores.client.query('EXECUTE nothing').catch((thrown: unknown) => thrown)
    expect(asPostgresError('here', error)).toMatchObject({
      message: expect.stringContaining('pool_mode'),
      details: { reason: 'pooler' },
    })
  })

  it('PG-4: a closed store refuses every call', async () => {
    const store = await openPostgresStore({ url })
    await store.close()
    const refusal = { details: { reason: 'closed' } }
    await expect(store.log.append(sampleRecord(1))).rejects.toMatchObject(refusal)
    await expect(store.tables.apply(rowsOf(1), 1)).rejects.toMatchObject(refusal)
    await expect(store.read.jobs({ afterSeq: 0, limit: 1 })).rejects.toMatchObject(refusal)
  })
})

function errorOf(act: () => unknown): Error {
  try {
    act()
  } catch (error) {
    return error as Error
  }
  throw new Error('it was not refused')
}
