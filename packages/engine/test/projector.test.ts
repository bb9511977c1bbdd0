import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JobId, Store } from '@fairlead/core'
import type { WriteBatch } from '@fairlead/core/internal'
import type { TokenFacts } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { ACME, ATLAS, Call, outcomesOf, Rig, START } from './rig.ts'

/** More changes than come to the tables at once, and fewer than are not left for later. */
const SOME = 100
/** Changes from which on enqueues wait for the tables. */
const BEHIND = 200_000

let rig: Rig
/** The rows that the tables were given. */
let given: WriteBatch[]

beforeEach(async () => {
  const store = new MemoryStore()
  given = []
  const apply = store.tables.apply.bind(store.tables)
  store.tables.apply = (rows, batch) => {
    given.push(rows)
    return apply(rows, batch)
  }
  rig = await Rig.open(store)
  await rig.clock.advance(50)
  given.length = 0
})
afterEach(() => rig.close())

const many = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => rig.enqueue(`${name}-${n}`))
const answered = async (calls: readonly Call<unknown>[]) => {
  expect(new Set(await outcomesOf(calls))).toEqual(new Set(['ok']))
  await rig.clock.settle()
}
const jobsIn = (rows: readonly WriteBatch[]) => rows.map(({ newJobs }) => newJobs.length)

describe('rows', () => {
  it('PROJECT-1: of a few changes come at once', async () => {
    await answered([rig.enqueue('a')])
    await answered([rig.enqueue('b')])
    expect(jobsIn(given)).toEqual([1, 1])
    expect(await rig.inner.read.jobs({ afterSeq: 0, limit: 9 })).toHaveLength(2)
  })

  it('PROJECT-1: of more changes come together 50 ms after the last ones, and a job that has ended comes once', async () => {
    await answered([rig.enqueue('first')])
    given.length = 0
    const calls = many('a', SOME)
    await answered(calls)
    await rig.clock.advance(20)
    await answered(many('b', SOME))
    const [first] = calls as [Call<JobId>]
    await answered([rig.cancel(first.value as JobId)])
    await rig.clock.advance(29)
    expect(given).toEqual([])
    await rig.clock.advance(1)
    expect(jobsIn(given)).toEqual([2 * SOME])
    const rows = given[0]?.newJobs.map(({ row }) => row)
    expect(rows?.find(({ id }) => id === first.value)?.status).toBe('CANCELED')
    expect(given[0]?.jobs).toEqual([])
  })

  it('PROJECT-1: of very many changes are not left for later', async () => {
    await answered([rig.enqueue('first')])
    given.length = 0
    await answered(many('a', 2_100))
    // Each has two changes: itself, and its entry in the journal.
    expect(jobsIn(given).reduce((sum, jobs) => sum + jobs, 0)).toBeGreaterThanOrEqual(2_048)
  })

  it('PROJECT-1: are given to the tables once the log has their batch', async () => {
    rig.store.isHolding = true
    const call = rig.enqueue('a')
    const append = await rig.store.underWay()
    await rig.clock.settle()
    expect(given).toEqual([])
    await append.store()
    await rig.clock.settle()
    expect(given).toEqual([])
    await append.confirm()
    await answered([call])
    expect(jobsIn(given)).toEqual([1])
  })

  it('PROJECT-1: that are refused are given again, and callers are answered meanwhile', async () => {
    rig.store.areTablesFull = true
    const { applies } = rig.store
    await answered([rig.enqueue('a')])
    expect(rig.store.applies - applies).toBe(1)
    await rig.clock.advance(249)
    expect(rig.store.applies - applies).toBe(1)
    await rig.clock.advance(1)
    expect(rig.store.applies - applies).toBe(2)
    await answered([rig.enqueue('b')])
    expect(given).toEqual([])
    rig.store.areTablesFull = false
    await rig.clock.advance(250)
    expect(jobsIn(given).filter((jobs) => jobs > 0)).toEqual([1, 1])
  })

  it('PROJECT-1, RECOVER-1: that never came are made again from the log', async () => {
    rig.store.isHoldingRows = true
    const calls = many('a', 3)
    await answered(calls)
    await answered([rig.cancel(calls[0]?.value as JobId)])
    await rig.crash(60_000)
    expect(await rig.jobs()).toEqual(calls.map(({ value }) => value))
    expect((await rig.engine.getJob(calls[0]?.value as JobId)).status).toBe('CANCELED')
  })

  it('PROJECT-1, ENGINE-7: of a job that was deleted before they came leave its result and free its key', async () => {
    const completion = { result_retention_secs: null }
    await rig.engine.setPolicy({ queue: { ttl: { gc_horizon_secs: 1 }, completion } })
    const worker = await rig.connect()
    rig.store.isHoldingRows = true
    const done = await rig.offered('done', worker)
    expect(await rig.complete(done).done).toBe('ok')
    await worker.session.close()
    const cancelled = rig.enqueue('cancelled')
    expect(await cancelled.done).toBe('ok')
    await answered([rig.cancel(cancelled.value as JobId)])
    await rig.clock.advance(120_000)
    // All of it comes with one take.
    await rig.crash()
    expect(await rig.jobs()).toEqual([])
    expect((await rig.engine.getResult(done.jobId)).jobId).toBe(done.jobId)
    const again = rig.enqueue('cancelled')
    expect(await again.done).toBe('ok')
    expect(await rig.jobs()).toEqual([again.value])
  })

  it('PROJECT-1: the log keeps what the tables do not have durably, and nothing else', async () => {
    const batches = async () => {
      const found: number[] = []
      const { batch } = await rig.inner.tables.load()
      for await (const record of rig.inner.log.read(batch)) found.push(record.batch)
      return found
    }
    const { batch } = rig.inner.log.end
    rig.store.isHoldingRows = true
    await answered([rig.enqueue('a')])
    await answered([rig.enqueue('b')])
    expect(await batches()).toEqual([batch + 1, batch + 2])
    rig.store.letRowsGo()
    await rig.clock.settle()
    expect(await batches()).toEqual([])
    const first = rig.inner.log.read(batch)[Symbol.asyncIterator]().next()
    await expect(first).rejects.toMatchObject({ code: 'StoreUnavailable' })
  })

  it('PROJECT-1: are all there after a close', async () => {
    const calls = many('a', SOME)
    expect(new Set(await outcomesOf(calls))).toEqual(new Set(['ok']))
    await rig.engine.close()
    expect(await rig.inner.read.jobs({ afterSeq: 0, limit: 200 })).toHaveLength(SOME)
    expect((await rig.inner.tables.load()).batch).toBe(rig.inner.log.end.batch)
  })

  it('PROJECT-1: a close does not wait for tables that take nothing', async () => {
    const calls = [rig.enqueue('a')]
    rig.store.areTablesFull = true
    calls.push(...many('b', SOME))
    await answered(calls)
    await rig.engine.close()
    rig.store.areTablesFull = false
    await rig.restart(0)
    expect(await rig.jobs()).toHaveLength(SOME + 1)
  })
})

describe('a read', () => {
  it('PROJECT-2: sees what was answered before it, and makes its rows come', async () => {
    await answered([rig.enqueue('first')])
    given.length = 0
    const calls = many('a', SOME)
    expect(new Set(await outcomesOf(calls))).toEqual(new Set(['ok']))
    expect(given).toEqual([])
    expect(await rig.jobs()).toHaveLength(SOME + 1)
  })

  it('PROJECT-2: waits for the record under way if its rows come with it, and then sees its own', async () => {
    await answered([rig.enqueue('first')])
    await answered(many('a', SOME))
    rig.store.isHolding = true
    const next = rig.enqueue('b')
    const append = await rig.store.underWay()
    const read = new Call(rig.jobs())
    await rig.clock.settle()
    expect(read.outcome).toBe('pending')
    await append.confirm()
    await answered([next, read])
    expect(read.value?.length).toBeGreaterThanOrEqual(SOME + 1)
  })

  it('PROJECT-2: in the middle of a batch waits for its end, and then sees what was answered before', async () => {
    await answered([rig.enqueue('first')])
    rig.store.isHolding = true
    const calls = many('a', 50)
    const one = await rig.store.underWay()
    const open = [rig.enqueue('b')]
    await rig.clock.settle()
    await one.store()
    const reads: Call<JobId[]>[] = []
    // Before the answer, with it, and after it.
    reads.push(new Call(rig.jobs()))
    const confirmed = one.confirm()
    reads.push(new Call(rig.jobs()))
    await confirmed
    reads.push(new Call(rig.jobs()))
    expect(new Set(await outcomesOf(calls))).toEqual(new Set(['ok']))
    reads.push(new Call(rig.jobs()))
    await rig.clock.settle()
    await rig.store.letGo()
    await answered([...open, ...reads])
    expect(reads.at(-1)?.value?.length).toBeGreaterThanOrEqual(51)
    expect(await rig.jobs()).toHaveLength(52)
  })

  it('PROJECT-2: that nothing is missing for does not wait for an append under way', async () => {
    await answered([rig.enqueue('a')])
    rig.store.isHolding = true
    const next = rig.enqueue('b')
    const append = await rig.store.underWay()
    expect(await rig.jobs()).toHaveLength(1)
    await append.confirm()
    await answered([next])
  })

  it('PROJECT-2: does not wait for what was answered after it', async () => {
    rig.store.isHoldingRows = true
    const calls = [rig.enqueue('a')]
    await answered(calls)
    const read = new Call(rig.jobs())
    calls.push(rig.enqueue('b'))
    await answered(calls)
    expect(read.outcome).toBe('pending')
    rig.store.applyNext()
    await answered([read])
    expect(read.value).toEqual([calls[0]?.value])
    rig.store.letRowsGo()
    expect(await rig.jobs()).toHaveLength(2)
  })

  it('PROJECT-2: of tables that take nothing is refused, and answered when they are back', async () => {
    rig.store.areTablesFull = true
    await answered([rig.enqueue('a')])
    expect(await new Call(rig.jobs()).done).toBe('StoreUnavailable')
    rig.store.areTablesFull = false
    await rig.clock.advance(250)
    expect(await rig.jobs()).toHaveLength(1)
  })

  it('PROJECT-2: while the log takes nothing is refused if rows of an unknown outcome came with its own', async () => {
    await answered([rig.enqueue('first')])
    await answered(many('a', SOME))
    rig.store.isFull = true
    expect(await rig.enqueue('b').done).toBe('StoreUnavailable')
    expect(await new Call(rig.jobs()).done).toBe('StoreUnavailable')
    rig.store.isFull = false
    await rig.clock.advance(250)
    expect(await rig.jobs()).toHaveLength(SOME + 2)
  })
})

describe('tables that are far behind', () => {
  const token = (n: number): TokenFacts => ({
    ...{ id: `t${n}`, digest: 'd', isRevoked: false, role: 'admin', holder: 'h', scope: '' },
    expiresAt: null,
  })

  /** Rows wait, and there are too many of them. The tables will drop them, which takes less time. */
  async function fallBehind(): Promise<void> {
    rig.inner.tables.apply = async (_, batch) => batch
    rig.store.isHoldingRows = true
    await rig.engine.noteTokens(Array.from({ length: BEHIND + 1 }, (_, n) => token(n)))
    await rig.clock.advance(50)
  }

  it('PROJECT-3: hold enqueues back until they have caught up, and nothing else', async () => {
    const worker = await rig.connect('w-1', { slots: 4 })
    const [one, two] = [await rig.offered('a', worker), await rig.offered('b', worker)]
    await fallBehind()
    const held = [rig.enqueue('c'), rig.enqueue('d')]
    await answered([
      rig.ack(one),
      rig.complete(one),
      rig.ack(two),
      new Call(rig.engine.renew({ leaseId: two.leaseId, by: ATLAS })),
      new Call(rig.engine.fail({ leaseId: two.leaseId, by: ATLAS, code: 'oom', permanent: true })),
      new Call(rig.engine.heartbeat(ATLAS)),
    ])
    await rig.clock.advance(10_000)
    expect(held.map(({ outcome }) => outcome)).toEqual(['pending', 'pending'])
    rig.store.letRowsGo()
    await answered(held)
  })

  it('PROJECT-3: an engine that closes answers the enqueues that it held back', async () => {
    await fallBehind()
    const held = rig.enqueue('c')
    await rig.clock.settle()
    expect(held.outcome).toBe('pending')
    const closed = rig.engine.close()
    expect(await held.done).toBe('ok')
    rig.store.letRowsGo()
    await closed
  })

  it('PROJECT-3: an engine that closes holds back no job of a schedule that fires meanwhile', async () => {
    const minute = Math.ceil(START / 60_000) * 60_000
    const request = { kind: 'task', payload: { name: 'resize', args: {} } }
    const key = { caller: ACME, id: 'minutely' }
    await rig.engine.schedules.put({ ...key, cron: '* * * * *', request })
    await rig.clock.advance(minute - rig.clock.now() - 100)
    await fallBehind()
    rig.clock.jump(50)
    const closed = rig.engine.close()
    await rig.clock.settle()
    expect(rig.engine.schedules.get(key)?.lastAt).toBe(minute)
    const atClose = rig.store.appends
    rig.store.letRowsGo()
    await closed
    await rig.clock.settle()
    expect(rig.store.appends).toBe(atClose)
  })
})

describe('what is erased', () => {
  const NAME = 'Kim Example of Elm Road'
  const REQUEST = {
    kind: 'registration',
    payload: {
      ...{ provider: 'bookeo', org_ref: 'north', event_id: 'swim', user_id: NAME, args: {} },
      scheduled_time: START + 3_600_000,
    },
  }

  /** Enqueues a registration and cancels it; two minutes later its personal data has to go. */
  async function erase(store: Store): Promise<void> {
    await rig.close()
    rig = await Rig.open(store)
    await rig.engine.setPolicy({ audit: { pii_retention_secs: 60 } })
    const jobId = await rig.engine.enqueue(REQUEST, { caller: ACME })
    await rig.engine.cancel(jobId, ACME)
    await rig.clock.advance(50_000)
  }

  it('ERASE-1: goes from the tables first, then the log is trimmed and overwritten', async () => {
    const store = new MemoryStore()
    const calls: string[] = []
    const { tables, log } = store
    const original = {
      apply: tables.apply.bind(tables),
      scrub: tables.scrub.bind(tables),
      trim: log.trim.bind(log),
      scrubLog: log.scrub.bind(log),
    }
    tables.apply = (rows, batch) => {
      if (rows.eraseEnded !== null) calls.push('erase')
      return original.apply(rows, batch)
    }
    tables.scrub = async () => {
      const durable = await original.scrub()
      if (durable !== null) calls.push('scrub the tables')
      return durable
    }
    log.trim = (upToBatch) => {
      calls.push(`trim ${upToBatch === log.end.batch ? 'all' : 'a part'}`)
      return original.trim(upToBatch)
    }
    log.scrub = () => {
      calls.push('scrub the log')
      return original.scrubLog()
    }
    await erase(store)
    calls.length = 0
    await rig.clock.advance(30_000)
    expect(calls).not.toContain('scrub the log')
    await rig.clock.advance(60_000)
    const from = calls.indexOf('scrub the tables')
    expect(calls[from - 1]).toBe('erase')
    expect(calls.slice(from, from + 3)).toEqual(['scrub the tables', 'trim all', 'scrub the log'])
    expect(calls.filter((call) => call === 'scrub the log')).toHaveLength(1)
  })

  it('ERASE-1: is overwritten with the next rows if the log refused it', async () => {
    const store = new MemoryStore()
    const fates: string[] = []
    await erase(store)
    store.log.scrub = async () => {
      fates.push(fates.length === 0 ? 'refused' : 'done')
      if (fates.length === 1) throw new Error('the disk is slow today')
    }
    await rig.clock.advance(90_000)
    expect(fates).toEqual(['refused', 'done'])
  })

  it('ERASE-1: is in no file of the store afterwards, while the engine runs', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-erase-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const found = () =>
      readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(NAME))
    await erase(await openSqliteStore(join(folder, 'state.db')))
    expect(found().length).toBeGreaterThan(0)
    // The store takes real time, and each minute brings about what the next one waits for.
    while (found().length > 0) {
      await rig.clock.advance(60_000)
      await rig.engine.checkpoint()
    }
  })
})
