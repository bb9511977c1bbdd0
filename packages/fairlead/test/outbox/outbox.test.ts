import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type EnqueueRequest, FairleadError, type NodeClient } from '@fairlead/client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { outboxSql, type Relay, type RelayOptions, startRelay } from '../../dist/outbox/index.js'
import { type CliServer, fairlead, serve } from '../cli-process.ts'
import {
  type AppDatabase,
  type AppDatabases,
  postgresDatabases,
  sqliteDatabases,
} from './databases.ts'

let folder: string
let server: CliServer
let client: NodeClient
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-outbox-server-'))
  server = await serve(folder)
  client = connect(server.url)
})
afterAll(async () => {
  await client.close()
  await server.stop()
  rmSync(folder, { recursive: true })
})

/** The jobs of a name, in the order of their acceptance. */
async function jobsOf(name: string): Promise<{ task_id: string }[]> {
  const jobs: { task_id: string }[] = []
  for await (const job of client.listJobs({ name })) jobs.push(job)
  return jobs
}

async function argsOf(name: string): Promise<unknown[]> {
  const jobs = await jobsOf(name)
  const records = await Promise.all(jobs.map(({ task_id }) => client.getJob(task_id)))
  return records.map(({ job }) => (job.request.payload as { args: unknown }).args)
}

/** Through whatever holds it up. */
async function untilIdle(relay: Relay): Promise<void> {
  for (;;) {
    const isIdle = await relay.idle().then(
      () => true,
      () => false,
    )
    if (isIdle) return
  }
}

let names = 0
/** Another for each test: they share a server. */
const freshName = (): string => `outbox-${names++}`

describe.each([
  ['SQLite', sqliteDatabases],
  ['PostgreSQL', postgresDatabases],
] as const)('%s', (kind, databases) => {
  let all: AppDatabases
  let app: AppDatabase
  let name: string
  const relays: Relay[] = []
  beforeAll(async () => {
    all = await databases()
  })
  afterAll(() => all.close())
  beforeEach(async () => {
    app = await all.open()
    name = freshName()
  })
  afterEach(async () => {
    await Promise.all(relays.splice(0).map((relay) => relay.stop()))
    await app.close()
  })

  /** A relay that is stopped with the test. Its trouble is told to nobody, unless the test says so. */
  async function relay(options: Partial<Parameters<typeof startRelay>[0]> = {}): Promise<Relay> {
    const started = await startRelay({
      from: app.from,
      to: client,
      pollMs: 20,
      onError: () => {},
      ...options,
    })
    relays.push(started)
    return started
  }

  const write = (...data: readonly object[]): Promise<string[]> =>
    app.transaction(async ({ enqueue }) => {
      const keys: string[] = []
      for (const each of data) keys.push((await enqueue(name, each)).key)
      return keys
    })

  it('OUTBOX-1: a job is enqueued if and only if the transaction commits', async () => {
    await app.sql('CREATE TABLE orders (id integer)')
    const failed = app.transaction(async ({ enqueue, sql }) => {
      await sql('INSERT INTO orders VALUES (1)')
      await enqueue(name, { order: 1 })
      throw new Error('out of stock')
    })
    await expect(failed).rejects.toThrow('out of stock')
    await app.transaction(async ({ enqueue, sql }) => {
      await sql('INSERT INTO orders VALUES (2)')
      await enqueue(name, { order: 2 })
    })
    const started = await relay()
    await started.idle()
    expect(await argsOf(name)).toEqual([{ order: 2 }])
    expect(await app.rows()).toEqual([])
  })

  it('OUTBOX-1: a job of a transaction that is open is not sent', async () => {
    const started = await relay()
    await app.transaction(async ({ enqueue }) => {
      await enqueue(name, {})
      await started.idle()
      expect(await jobsOf(name)).toEqual([])
    })
    await started.idle()
    expect(await jobsOf(name)).toHaveLength(1)
  })

  it('OUTBOX-2: what a server would refuse is refused at writing, with its field', async () => {
    const refusals = await app.transaction(async ({ enqueue }) => {
      const tries = [
        enqueue('', {}),
        enqueue(name, { when: new Date() }),
        enqueue(name, [1]),
        enqueue(name, {}, { attempts: 0 }),
        enqueue(name, {}, { tags: ['two words'] }),
        enqueue(name, {}, { delay: 'soon' }),
        enqueue(name, {}, { delay: '400d' }),
        enqueue(name, {}, { dependsOn: ['0x12'] }),
        enqueue(name, {}, { timeout: 1 }),
        enqueue(name, {}, { key: '' }),
        enqueue(name, {}, { atempts: 3 } as object),
        enqueue(name, { text: 'x'.repeat(70_000) }),
      ]
      const ends = await Promise.allSettled(tries)
      await enqueue(name, { text: 'x'.repeat(70_000) }, { argsMaxBytes: 100_000 })
      return ends.map((end) => (end.status === 'rejected' ? end.reason.message : 'none'))
    })
    expect(refusals.map((text) => text.split(':')[0])).toEqual([
      'name',
      'data.when',
      'data',
      'attempts',
      'tags',
      'delay',
      'delay',
      'dependsOn',
      'timeout',
      'key',
      'atempts',
      'data',
    ])
    // The transaction went on: nothing had been written that could break it.
    expect(await app.rows()).toHaveLength(1)
  })

  it('OUTBOX-3: the options of a job go with it, and its delay counts from the writing', async () => {
    const before = Date.now()
    await app.transaction(({ enqueue }) =>
      enqueue(name, {}, { delay: '1h', attempts: 3, tags: ['a'], priority: 7, backoff: '5s' }),
    )
    const after = Date.now()
    await (await relay()).idle()
    const [job] = await jobsOf(name)
    const { options } = (await client.getJob(job?.task_id ?? '')).job.request
    expect(options).toMatchObject({ attempts: 3, tags: ['a'], priority: 7 })
    expect(options?.run_at).toBeGreaterThanOrEqual(before + 3_600_000)
    expect(options?.run_at).toBeLessThanOrEqual(after + 3_600_000)
  })

  it('OUTBOX-4: rows go in the order of their ids, in batches, each under its own key', async () => {
    const data = Array.from({ length: 25 }, (_, n) => ({ n }))
    const keys = await write(...data)
    const sent: EnqueueRequest[] = []
    const to = {
      enqueue: (request: EnqueueRequest) => {
        sent.push(request)
        return client.enqueue(request)
      },
    }
    const started = await relay({ to, batch: 4 })
    await started.idle()
    expect(sent.map(({ idempotency_key }) => idempotency_key)).toEqual(keys)
    expect(await argsOf(name)).toEqual(data)
    expect(started.counts).toEqual({ answered: 25, refused: 0 })
  })

  it('OUTBOX-4: a key of the application makes one job of two rows', async () => {
    const one = { key: `${name}-${kind}-order-1` }
    for (const _ of [1, 2]) await app.transaction(({ enqueue }) => enqueue(name, { n: 1 }, one))
    await (await relay()).idle()
    expect(await jobsOf(name)).toHaveLength(1)
    expect(await app.rows()).toEqual([])
  })

  it('OUTBOX-5: a row whose answer was lost is sent again, and is one job', async () => {
    await write({ n: 1 }, { n: 2 })
    let losses = 0
    const to = {
      async enqueue(request: EnqueueRequest) {
        await client.enqueue(request)
        if (losses++ < 2) throw new FairleadError('StoreUnavailable', 'the connection was lost')
      },
    }
    const errors: unknown[] = []
    const started = await relay({ to, onError: (error) => errors.push(error) })
    await untilIdle(started)
    expect(errors).toHaveLength(1)
    expect(losses).toBe(4)
    expect(await argsOf(name)).toEqual([{ n: 1 }, { n: 2 }])
    expect(await app.rows()).toEqual([])
  })

  it('OUTBOX-6: a refused row is marked, told and skipped, and sent again once it is cleared', async () => {
    const used = `${name}-${kind}-used`
    await client.enqueue({ kind: 'task', payload: { name, args: {} }, idempotency_key: used })
    await app.transaction(({ enqueue }) => enqueue(name, { other: true }, { key: used }))
    await write({ n: 1 })
    const told: string[] = []
    const onRefused: RelayOptions['onRefused'] = ({ key }, { code }) => told.push(`${key} ${code}`)
    const started = await relay({ onRefused })
    await started.idle()
    await started.idle()
    expect(told).toEqual([`${used} IdempotencyConflict`])
    expect(await argsOf(name)).toEqual([{}, { n: 1 }])
    const rows = await app.rows()
    expect(rows).toHaveLength(1)
    expect(rows[0]?.refusal).toMatch(/^IdempotencyConflict: /)
    await app.sql(
      `UPDATE fairlead_outbox SET refused_at = NULL, refusal = NULL, idempotency_key = '${used}-2'`,
    )
    await started.idle()
    expect(await argsOf(name)).toEqual([{}, { n: 1 }, { other: true }])
    expect(started.counts).toEqual({ answered: 2, refused: 1 })
  })

  it('OUTBOX-6: rows that nothing can be made of are refused, and hold up no other', async () => {
    const bad = ['{"kind": "task"}', '[]', '{"kind": "task", "payload": {"name": "x"}, "no": 1}']
    for (const request of bad) {
      await app.sql(`INSERT INTO fairlead_outbox (request) VALUES ('${request}')`)
    }
    await write({ n: 1 })
    await (await relay()).idle()
    expect((await app.rows()).map(({ refusal }) => refusal?.split(': ')[0])).toEqual([
      'InvalidParams',
      'InvalidParams',
      'InvalidParams',
    ])
    expect(await argsOf(name)).toEqual([{ n: 1 }])
  })

  it.each([
    'Unauthorized',
    'Forbidden',
    'QueueOverCapacity',
    'StoreUnavailable',
    'Internal',
  ] as const)('OUTBOX-7: %s marks no row: it is tried again', async (code) => {
    await write({ n: 1 })
    let left = 2
    const to = {
      enqueue: async (request: EnqueueRequest) => {
        if (left-- > 0) throw new FairleadError(code, 'not now')
        return client.enqueue(request)
      },
    }
    const errors: unknown[] = []
    const started = await relay({ to, onError: (error) => errors.push(error) })
    await untilIdle(started)
    expect(errors).toMatchObject([{ code }, { code }])
    expect(await argsOf(name)).toEqual([{ n: 1 }])
    expect(started.counts).toEqual({ answered: 1, refused: 0 })
  })

  it('OUTBOX-7: a row that is held up holds up no other row of its batch', async () => {
    await write({ n: 1 }, { n: 2 }, { n: 3 })
    const to = {
      enqueue: async (request: EnqueueRequest) => {
        const { args } = request.payload as unknown as { args: { n: number } }
        if (args.n === 2) throw new FairleadError('QueueOverCapacity', 'full')
        return client.enqueue(request)
      },
    }
    const started = await relay({ to })
    await expect(started.idle()).rejects.toThrow('full')
    expect(await argsOf(name)).toEqual([{ n: 1 }, { n: 3 }])
    expect(await app.rows()).toHaveLength(1)
  })

  it('OUTBOX-8: any number of relays make one job of each row', async () => {
    const data = Array.from({ length: 300 }, (_, n) => ({ n }))
    await write(...data)
    const all = await Promise.all(Array.from({ length: 4 }, () => relay({ batch: 10 })))
    await Promise.all(all.map((each) => each.idle()))
    const args = (await argsOf(name)) as { n: number }[]
    expect(args.toSorted((a, b) => a.n - b.n)).toEqual(data)
    expect(await app.rows()).toEqual([])
  })

  it('OUTBOX-9: a relay that stops waits for the answers under way, and keeps what has none', async () => {
    await write({ n: 1 }, { n: 2 })
    let ask = (): void => {}
    const asked = new Promise<void>((resolve) => {
      ask = resolve
    })
    const to = {
      enqueue: async (request: EnqueueRequest) => {
        const { args } = request.payload as unknown as { args: { n: number } }
        ask()
        if (args.n === 2) await new Promise(() => {})
        return client.enqueue(request)
      },
    }
    const started = await relay({ to, batch: 10 })
    await asked
    const waiting = started.idle()
    await Promise.all([expect(waiting).rejects.toThrow('was stopped'), started.stop(300)])
    expect(await argsOf(name)).toEqual([{ n: 1 }])
    expect(await app.rows()).toHaveLength(1)
    // The row is free for the next.
    await (await relay()).idle()
    expect(await argsOf(name)).toEqual([{ n: 1 }, { n: 2 }])
  })

  it('OUTBOX-11: plain SQL writes a row too', async () => {
    const request = { kind: 'task', payload: { name, args: { by: 'sql' } }, tags: ['plain'] }
    await app.sql(`INSERT INTO fairlead_outbox (request) VALUES ('${JSON.stringify(request)}')`)
    await (await relay()).idle()
    expect(await argsOf(name)).toEqual([{ by: 'sql' }])
  })

  it('OUTBOX-12: fairlead outbox relay --once moves what is there, and fails if a row was refused', async () => {
    await write({ n: 1 })
    const relaying = ['outbox', 'relay', '--from', app.from, '--url', server.url, '--once']
    const done = await fairlead(relaying)
    expect(done).toMatchObject({ code: 0, out: '1 job enqueued, 0 refused.\n' })
    expect(done.err).toMatch(/^Relaying .* to http/)
    expect(done.err).not.toContain('private')
    await app.sql(`INSERT INTO fairlead_outbox (request) VALUES ('{}')`)
    const refused = await fairlead(relaying)
    expect(refused).toMatchObject({ code: 1, out: '0 jobs enqueued, 1 refused.\n' })
    expect(refused.err).toMatch(/refused row \d+ .*: InvalidParams: kind/)
  })

  it('OUTBOX-12: the SQL of the migration makes the same table', async () => {
    const database = kind === 'SQLite' ? 'sqlite' : 'postgres'
    const { out } = await fairlead(['outbox', 'sql', database])
    expect(`${out}`).toBe(outboxSql(database))
    await app.sql('DROP TABLE fairlead_outbox')
    await expect(relay()).rejects.toMatchObject({
      code: 'InvalidState',
      message: expect.stringContaining('fairlead outbox sql'),
    })
    await expect(startRelay({ from: `${folder}/none.db`, to: client })).rejects.toMatchObject({
      details: { field: 'from' },
    })
    const missing = app.transaction(({ enqueue }) => enqueue(name, {}))
    await expect(missing).rejects.toMatchObject({ code: 'InvalidState' })
    for (const _ of [1, 2]) await app.sql(out)
    await write({ n: 1 })
    await (await relay()).idle()
    expect(await argsOf(name)).toEqual([{ n: 1 }])
  })
})
