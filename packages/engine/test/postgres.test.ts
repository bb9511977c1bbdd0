import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { worker } from '@fairlead/client'
import { callerOf, FairleadError, type Store } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { openPostgresStore } from '@fairlead/store/postgres'
import { type Postgres, startPostgres } from '@fairlead/testkit/postgres'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Disk, runEngine } from './engine-run.ts'
import { expectAlike, OneStore, RecordedTrace } from './recorded-trace.ts'
import { SqliteDisk } from './sqlite-disk.ts'

let folder: string
let server: Postgres
let url: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-engine-postgres-'))
  server = await startPostgres(join(folder, 'data'))
  url = (await server.createDatabase()).url
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

let schemas = 0
const newSchema = () => `run_${++schemas}`

/** A store that the next life takes over from the last one, whether that has closed it or not. */
class PostgresDisk implements Disk {
  readonly #schema = newSchema()
  readonly #stores: Store[] = []

  async open(): Promise<Store> {
    const store = await openPostgresStore({ url, schema: this.#schema })
    this.#stores.push(store)
    return store
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()))
  }
}

it('COMMAND-1, LEADER-1: PostgreSQL, SQLite and memory hold the same after each batch of one trace, restarts or not', async () => {
  const trace = new RecordedTrace(5, { turns: 3 })
  const inMemory = await runEngine(new OneStore(), 'goes on', trace.make)
  expect(inMemory.hashes.length).toBeGreaterThan(5)
  expectAlike(await runEngine(new SqliteDisk(), 'is closed', trace.repeat()), inMemory)
  for (const after of ['goes on', 'is killed'] as const) {
    const disk = new PostgresDisk()
    expectAlike(await runEngine(disk, after, trace.repeat()), inMemory)
    await disk.close()
  }
})

const CALLERS = 8
/** Enqueues that are answered before each fault. */
const ANSWERS = 40
/** A caller waits so long before it asks again. */
const RETRY_MS = 20
const by = { caller: callerOf('load') }

it('PG-3: a server that is killed, restarted and cuts its connections under load loses nothing and repeats nothing', async () => {
  const schema = newSchema()
  const store = await openPostgresStore({ url, schema })
  const engine = await openEngine({ store })
  const admin = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  const answered = new Map<string, string>()
  const working = worker({
    source: engine.leaseSource(),
    providerId: 'provider:load',
    kinds: ['task'],
    concurrency: 8,
    handler: ({ jobId }) => Buffer.from(jobId),
    onError: () => {},
  })
  let next = 0
  let isOver = false
  let due = 0
  let reached = (): void => {}
  /** An answer that failed says to ask again with the same key. */
  const enqueue = async (key: string): Promise<void> => {
    const request = { kind: 'task', payload: { name: 'echo', args: { key } }, idempotency_key: key }
    for (;;) {
      try {
        answered.set(key, await engine.enqueue(request, by))
        if (answered.size >= due) reached()
        return
      } catch (error) {
        if (!(error instanceof FairleadError) || !error.retryable) throw error
        await pause(RETRY_MS)
      }
    }
  }
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!isOver) await enqueue(`k-${next++}`)
  })
  const more = (count: number): Promise<void> => {
    due = answered.size + count
    return new Promise((resolve) => {
      reached = resolve
    })
  }
  await more(ANSWERS)
  await server.kill()
  await server.restart()
  await more(ANSWERS)
  for (let n = 0; n < 3; n++) {
    await admin(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'fairlead %'`,
    )
    await more(ANSWERS)
  }
  isOver = true
  await Promise.all(callers)
  const isDone = (): boolean => engine.stats().waiting['task'] === 0 && engine.stats().leases === 0
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (isDone()) resolve()
    }
    void engine.onEvent(look)
    look()
  })
  await working.stop()
  await engine.close()

  const after = await openPostgresStore({ url, schema })
  const rows = await after.read.everything()
  await after.close()
  const jobs = rows.flatMap(([table, row]) => (table === 'jobs' ? [row] : []))
  expect(jobs.map(({ id }) => id).sort()).toEqual([...answered.values()].sort())
  expect(new Set(answered.values()).size).toBe(answered.size)
  expect(jobs.every(({ status }) => status === 'COMPLETED')).toBe(true)
  // Each ended once, whatever was given again.
  const actions = rows.flatMap(([table, row]) => (table === 'journal' ? [row] : []))
  const ends = actions.filter(({ action }) => action === 'jobCompleted')
  expect(ends).toHaveLength(jobs.length)
})
