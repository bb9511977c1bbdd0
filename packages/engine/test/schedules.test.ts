import { callerOf, fromHex, type JobRow, taggedHashHex } from '@fairlead/core'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualWorker } from './manual-worker.ts'
import { ACME, ATLAS, Rig, START } from './rig.ts'

const MINUTE = 60_000
/** The first whole minute after the start. */
const FIRST = Math.ceil(START / MINUTE) * MINUTE
const REQUEST = { kind: 'task', payload: { name: 'resize', args: { n: 1 } } } as const
const NIGHTLY = { caller: ACME, id: 'nightly', cron: '* * * * *', request: REQUEST } as const

let rig: Rig
beforeEach(async () => {
  rig = await Rig.open(new MemoryStore())
})
afterEach(() => rig.engine.close())

const jobs = async (): Promise<readonly JobRow[]> => (await rig.engine.listJobs()).jobs
const firedFor = async () => (await jobs()).map(({ origin }) => (origin?.scheduledAt ?? 0) - FIRST)
const skipped = async () => {
  const entries = await rig.engine.view.read.journal(0, 1_000)
  return entries
    .filter(({ action }) => action === 'scheduleSkipped')
    .map(({ details }) => [details['reason'], (details['dueAt'] as number) - FIRST])
}
const toFirst = () => rig.clock.advance(FIRST - rig.clock.now())

describe('a schedule', () => {
  it('SCHEDULE-1, SCHEDULE-6: enqueues its job at its times, under a key of its own', async () => {
    const schedule = await rig.engine.schedules.put(NIGHTLY)
    expect(schedule).toMatchObject({ timezone: 'UTC', nextAt: FIRST, lastAt: null })
    await rig.clock.advance(FIRST - rig.clock.now() - 1)
    expect(await jobs()).toEqual([])
    await rig.clock.advance(1)
    await rig.clock.advance(MINUTE)
    const [first, second] = await jobs()
    expect(first).toMatchObject({
      caller: ACME,
      model: 'resize',
      enqueueTs: FIRST,
      txHash: taggedHashHex('AICF|schedule', fromHex(ACME) ?? '', 'nightly', FIRST),
      origin: { schedule: 'nightly', scheduledAt: FIRST },
    })
    expect(second?.enqueueTs).toBe(FIRST + MINUTE)
    expect(rig.engine.schedules.get(NIGHTLY)).toMatchObject({
      lastAt: FIRST + MINUTE,
      lastJob: second?.id,
      nextAt: FIRST + 2 * MINUTE,
    })
  })

  it('SCHEDULE-2: put again as it is changes nothing; with other times it starts anew', async () => {
    await rig.engine.schedules.put(NIGHTLY)
    const before = rig.engine.lastEventSeq
    await rig.engine.schedules.put(NIGHTLY)
    expect(rig.engine.lastEventSeq).toBe(before)
    const hourly = await rig.engine.schedules.put({ ...NIGHTLY, cron: '0 * * * *' })
    expect(hourly.nextAt).toBe(Math.ceil(START / (60 * MINUTE)) * 60 * MINUTE)
    const paused = await rig.engine.schedules.put({ ...NIGHTLY, isPaused: true })
    expect(paused.nextAt).toBeNull()
    await toFirst()
    expect(await jobs()).toEqual([])
    expect((await rig.engine.schedules.put(NIGHTLY)).nextAt).toBe(FIRST + MINUTE)
  })

  it('SCHEDULE-2: put at every start, it misses nothing', async () => {
    await rig.engine.schedules.put({ ...NIGHTLY, catchUp: 'all' })
    await rig.restart(FIRST - rig.clock.now() + 2 * MINUTE)
    const other = { ...REQUEST, payload: { name: 'render', args: {} } }
    await rig.engine.schedules.put({ ...NIGHTLY, catchUp: 'all', request: other })
    await rig.clock.settle()
    expect(await firedFor()).toEqual([0, MINUTE, 2 * MINUTE])
  })

  it('SCHEDULE-1: is deleted, and its jobs stay', async () => {
    await rig.engine.schedules.put(NIGHTLY)
    await toFirst()
    expect(await rig.engine.schedules.delete(NIGHTLY)).toBe(true)
    expect(await rig.engine.schedules.delete(NIGHTLY)).toBe(false)
    await rig.clock.advance(10 * MINUTE)
    expect(await firedFor()).toEqual([0])
    expect(rig.engine.schedules.list()).toEqual([])
  })

  it('SCHEDULE-1, SCHEDULE-7: its jobs have the options of the request, and a dedupe key leaves times out', async () => {
    const request = { ...REQUEST, delay_ms: 5_000, attempts: 2, tags: ['n'], dedupe_key: 'one' }
    await rig.engine.schedules.put({ ...NIGHTLY, request })
    await toFirst()
    await rig.clock.advance(MINUTE)
    const rows = await jobs()
    expect(rows.map(({ options }) => options)).toEqual([
      { runAt: FIRST + 5_000, attempts: 2, tags: ['n'], dedupeKey: 'one' },
    ])
    expect(await skipped()).toEqual([['deduplicated', MINUTE]])
    expect(await rig.engine.schedules.trigger(NIGHTLY)).toBe(rows[0]?.id)
  })

  it('SCHEDULE-7: with overlap skip it waits for the end of its last job', async () => {
    const worker = await ManualWorker.connect(rig.engine, ATLAS, { slots: 10 })
    await rig.engine.schedules.put({ ...NIGHTLY, overlap: 'skip' })
    await toFirst()
    await rig.clock.advance(MINUTE)
    expect(await firedFor()).toEqual([0])
    expect(await skipped()).toEqual([['overlap', MINUTE]])
    await expect(rig.engine.schedules.trigger(NIGHTLY)).rejects.toMatchObject({
      code: 'InvalidState',
    })
    const { leaseId } = worker.offered
    await rig.engine.cancel((await jobs())[0]?.id as never, 'operator')
    expect(leaseId).toBeDefined()
    await rig.clock.advance(MINUTE)
    expect(await firedFor()).toEqual([0, 2 * MINUTE])
  })

  it('SCHEDULE-7: goes on after a refused job, and says why', async () => {
    await rig.engine.setPolicy({ queue: { max_depth: 1 } })
    await rig.engine.schedules.put(NIGHTLY)
    await toFirst()
    await rig.clock.advance(MINUTE)
    expect(await skipped()).toEqual([['QueueOverCapacity', MINUTE]])
    expect(rig.engine.schedules.get(NIGHTLY)?.nextAt).toBe(FIRST + 2 * MINUTE)
    await rig.engine.setPolicy({ caps: { task: { name: 3 } } })
    await rig.clock.advance(MINUTE)
    expect((await skipped()).at(-1)).toEqual(['LimitExceeded', 2 * MINUTE])
  })

  it('SCHEDULE-8: is triggered at any time, paused or not, once for each key', async () => {
    await rig.engine.schedules.put({ ...NIGHTLY, isPaused: true })
    const first = await rig.engine.schedules.trigger(NIGHTLY, 'k')
    expect(await rig.engine.schedules.trigger(NIGHTLY, 'k')).toBe(first)
    const second = await rig.engine.schedules.trigger(NIGHTLY)
    expect((await jobs()).map(({ id }) => id)).toEqual([first, second])
    expect((await jobs())[1]?.origin).toEqual({ schedule: 'nightly' })
    expect(rig.engine.schedules.get(NIGHTLY)).toMatchObject({ nextAt: null, lastJob: second })
    await expect(rig.engine.schedules.trigger({ caller: ACME, id: 'x' })).rejects.toMatchObject({
      code: 'NotFound',
    })
  })
})

describe('after downtime', () => {
  const down = async (catchUp: 'none' | 'last' | 'all', minutes: number) => {
    await rig.engine.schedules.put({ ...NIGHTLY, catchUp })
    await rig.restart(FIRST - rig.clock.now() + minutes * MINUTE)
    await rig.clock.settle()
  }

  it('SCHEDULE-5: none skips the missed times', async () => {
    await down('none', 3)
    expect(await firedFor()).toEqual([])
    expect(await skipped()).toEqual([['missed', 0]])
    await rig.clock.advance(MINUTE)
    expect(await firedFor()).toEqual([4 * MINUTE])
  })

  it('SCHEDULE-5: last fires the newest', async () => {
    await down('last', 3)
    expect(await firedFor()).toEqual([3 * MINUTE])
    await rig.restart(0)
    await rig.clock.settle()
    expect(await firedFor()).toEqual([3 * MINUTE])
  })

  it('SCHEDULE-5: all fires each of them, the newest 100 at most', async () => {
    await down('all', 120)
    const times = await firedFor()
    expect(times).toHaveLength(100)
    expect([times[0], times.at(-1)]).toEqual([21 * MINUTE, 120 * MINUTE])
    expect(new Set(times).size).toBe(100)
  })

  it('SCHEDULE-4: a start that replays the firing does not fire again', async () => {
    await rig.engine.schedules.put({ ...NIGHTLY, catchUp: 'all' })
    await toFirst()
    for (let restarts = 0; restarts < 3; restarts++) {
      await rig.restart(1)
      await rig.clock.settle()
    }
    expect(await firedFor()).toEqual([0])
  })

  it('SCHEDULE-4: a firing whose key cannot be looked up is tried again after a second', async () => {
    await rig.engine.schedules.put(NIGHTLY)
    await toFirst()
    rig.store.keyRefusals = 3
    await rig.clock.advance(MINUTE + 2_999)
    expect(await firedFor()).toEqual([0])
    await rig.clock.advance(1)
    await rig.clock.settle()
    expect(await firedFor()).toEqual([0, MINUTE])
    expect(rig.store.keyRefusals).toBe(0)
  })

  it('SCHEDULE-4: a firing does not count that is not the next one: its schedule was replaced', async () => {
    await rig.engine.schedules.put(NIGHTLY)
    await toFirst()
    const lookUp = rig.store.holdAnswer('jobsByTx')
    const advanced = rig.clock.advance(MINUTE)
    await lookUp.asked
    await rig.engine.schedules.put({ ...NIGHTLY, cron: '0 * * * *' })
    lookUp.release()
    await advanced
    expect(await firedFor()).toEqual([0])
    expect(rig.engine.schedules.get(NIGHTLY)?.lastAt).toBe(FIRST)
  })

  it('SCHEDULE-4: an append whose answer is lost does not fire twice', async () => {
    await rig.engine.schedules.put(NIGHTLY)
    rig.store.fate = () => 'answer lost'
    await toFirst()
    rig.store.fate = () => 'ok'
    await rig.clock.advance(5_000)
    expect(await firedFor()).toEqual([0])
    expect(rig.engine.schedules.get(NIGHTLY)?.nextAt).toBe(FIRST + MINUTE)
  })
})

describe('a schedule is refused', () => {
  const put = (fields: object) => rig.engine.schedules.put({ ...NIGHTLY, ...fields } as never)

  it.each([
    [{ id: 'a b' }, /id: expected 1 to 64/],
    [{ cron: '0 0 30 2 *' }, /cron: 0 0 30 2 \* has no time within five years/],
    [{ cron: 7 }, /cron: expected five or six/],
    [{ timezone: 'Nowhere' }, /timezone: expected/],
    [{ overlap: 'queue' }, /overlap: expected one of allow, skip/],
    [{ catchUp: 'some' }, /catch_up: expected one of none, last, all/],
    [{ request: { ...REQUEST, idempotency_key: 'k' } }, /idempotency_key: expected to be left out/],
    [{ request: { kind: 'registration', payload: {} } }, /kind: expected ai, quantum or task/],
    [{ request: { kind: 'task', payload: { name: 'resize' } } }, /args: expected a value/],
    [{ request: { ...REQUEST, colour: 'red' } }, /colour/],
  ])('SCHEDULE-1: %j', async (fields, message) => {
    await expect(put(fields)).rejects.toThrow(message)
    expect(rig.engine.schedules.list()).toEqual([])
  })

  it('SCHEDULE-1: the 1,001st of a caller, and a request that is too large', async () => {
    for (let i = 0; i < 1_000; i++) await put({ id: `s${i}`, isPaused: true })
    await expect(put({ id: 'one-more' })).rejects.toMatchObject({ code: 'LimitExceeded' })
    await put({ id: 's7' })
    await put({ caller: callerOf('bob') })
    const args = { text: 'x'.repeat(70_000) }
    await expect(
      put({ id: 's8', request: { kind: 'task', payload: { name: 'resize', args } } }),
    ).rejects.toMatchObject({ code: 'LimitExceeded' })
  })
})
