import { type Caller, callerOf, type JobId, type JobRow } from '@fairlead/core'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ACME, Rig } from './rig.ts'

const BOB = callerOf('bob')

let rig: Rig
beforeEach(async () => {
  rig = await Rig.open(new MemoryStore())
})
afterEach(() => rig.engine.close())

async function add(count: number, caller: Caller = ACME, name = 'resize'): Promise<JobId[]> {
  const asked = Array.from({ length: count }, (_, n) => ({
    kind: 'task',
    payload: { name, args: { n } },
    ttl_abs_secs: 9_000,
    max_fee_u64: 7,
  }))
  const answers = await rig.engine.enqueueMany(asked, { caller, tier: 'PRO' })
  return answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : ('' as JobId)))
}
const all = async (filter: object = {}): Promise<readonly JobRow[]> =>
  (await rig.engine.listJobs({ ...filter, limit: 1_000 })).jobs
const settled = async (id: string) => {
  for (let turn = 0; turn < 50 && rig.engine.bulk.get(id)?.endedAt === null; turn++) {
    await rig.clock.settle()
  }
  return rig.engine.bulk.get(id)
}
const cancelAll = { action: 'cancel', filter: { status: 'QUEUED' }, by: 'operator' } as const

describe('a bulk cancel', () => {
  it('BULK-1, BULK-2: cancels all that fit, at most 250 in a command, as one audited action', async () => {
    await add(600)
    await add(2, BOB, 'render')
    const filter = { kind: 'task', model: 'resize' } as const
    const { id } = await rig.engine.bulk.start({ ...cancelAll, filter, id: 'op-1' }, 'token:t')
    expect(await settled(id)).toMatchObject({ done: 600, skipped: 0, actor: 'token:t' })
    expect(await all({ status: 'CANCELED' })).toHaveLength(600)
    expect(await all({ status: 'QUEUED' })).toHaveLength(2)
    const entries = await rig.engine.view.read.journal(0, 5_000)
    const told = entries.filter(({ action }) => action.startsWith('bulk'))
    expect(told.map(({ action, details }) => [action, details['done']])).toEqual([
      ['bulkStarted', undefined],
      ['bulkProgress', 250],
      ['bulkProgress', 500],
      ['bulkEnded', 600],
    ])
    const acted = entries.filter(({ action }) => action === 'jobCanceled')
    expect(new Set([...told, ...acted].map(({ actor }) => actor))).toEqual(new Set(['token:t']))
  })

  it('BULK-1: touches no job that was accepted after it began, and no more than its limit', async () => {
    await add(10)
    const first = rig.engine.bulk.start({ ...cancelAll, id: 'op-1', limit: 4 }, 'operator')
    await add(5)
    await first
    expect(await settled('op-1')).toMatchObject({ done: 4 })
    const second = rig.engine.bulk.start({ ...cancelAll, id: 'op-2' }, 'operator')
    const late = await add(3)
    await second
    await settled('op-2')
    const left = await all({ status: 'QUEUED' })
    expect(left.map(({ id }) => id)).toEqual(late)
  })

  it('BULK-4: a caller touches its own jobs only', async () => {
    await add(3)
    await add(2, BOB)
    const mine = { action: 'cancel', filter: { kind: 'task' }, by: BOB } as const
    await rig.engine.bulk.start({ ...mine, id: 'op' }, BOB)
    expect(await settled('op')).toMatchObject({ done: 2 })
    expect(await all({ caller: ACME, status: 'QUEUED' })).toHaveLength(3)
    const others = rig.engine.bulk.start({ ...mine, filter: { caller: ACME } }, BOB)
    await expect(others).rejects.toMatchObject({ code: 'Forbidden' })
  })

  it('BULK-5: the same id again is the same run, another action under it is a conflict', async () => {
    await add(3)
    const asked = { ...cancelAll, id: 'op' }
    await rig.engine.bulk.start(asked, 'operator')
    await settled('op')
    await add(1)
    expect(await rig.engine.bulk.start(asked, 'operator')).toMatchObject({ done: 3 })
    await settled('op')
    expect(await all({ status: 'QUEUED' })).toHaveLength(1)
    const other = rig.engine.bulk.start({ ...asked, action: 'retry' }, 'operator')
    await expect(other).rejects.toMatchObject({ code: 'IdempotencyConflict' })
  })

  it('BULK-2: goes on after a restart in its middle', async () => {
    await add(600)
    await rig.engine.bulk.start({ ...cancelAll, id: 'op' }, 'operator')
    expect(rig.engine.bulk.get('op')?.endedAt).toBeNull()
    await rig.restart(1_000)
    expect(await settled('op')).toMatchObject({ done: 600, skipped: 0 })
    expect(await all({ status: 'CANCELED' })).toHaveLength(600)
  })
})

describe('a bulk retry', () => {
  const retry = { action: 'retry', filter: { status: 'CANCELED' }, by: 'operator' } as const
  const canceled = async (count: number, caller = ACME) => {
    for (const id of await add(count, caller)) await rig.engine.cancel(id, 'operator')
  }

  it('BULK-3: enqueues each job again as it was, with the old one as its origin', async () => {
    await canceled(2)
    await canceled(1, BOB)
    await rig.engine.bulk.start({ ...retry, id: 'op' }, 'operator')
    expect(await settled('op')).toMatchObject({ done: 3, skipped: 0 })
    const [old] = await all({ status: 'CANCELED' })
    const again = await all({ status: 'QUEUED' })
    expect(again.map(({ caller }) => caller)).toEqual([ACME, ACME, BOB])
    expect(again[0]).toMatchObject({
      origin: { retryOf: old?.id },
      tier: 'PRO',
      fee: 7n,
      ttlAbsSecs: 9_000,
      retries: 0,
    })
    const [first, second] = await rig.engine.view.read.payloads([old?.seq ?? 0, again[0]?.seq ?? 0])
    expect(second).toEqual(first)
    const key = `retry:op:${old?.id}`
    const request = { kind: 'task', payload: { name: 'resize', args: { n: 0 } } }
    const known = await rig.engine.enqueue({ ...request, idempotency_key: key }, { caller: ACME })
    expect(known).toBe(again[0]?.id)
  })

  it('BULK-2: enqueues none twice when its step is lost with the process', async () => {
    await canceled(300)
    await rig.engine.bulk.start({ ...retry, id: 'op' }, 'operator')
    await rig.restart(0)
    expect(await settled('op')).toMatchObject({ done: 300 })
    expect(await all({ status: 'QUEUED' })).toHaveLength(300)
  })

  it('BULK-2: waits while the queue is full', async () => {
    await canceled(5)
    await rig.engine.setPolicy({ queue: { max_depth: 2 } })
    await rig.engine.bulk.start({ ...retry, id: 'op' }, 'operator')
    await rig.clock.advance(5_000)
    expect(rig.engine.bulk.get('op')).toMatchObject({ done: 0, endedAt: null })
    expect(await all({ status: 'QUEUED' })).toHaveLength(2)
    await rig.engine.setPolicy({})
    await rig.clock.advance(1_000)
    expect(await settled('op')).toMatchObject({ done: 5 })
    expect(await all({ status: 'QUEUED' })).toHaveLength(5)
  })

  it('BULK-3: keeps the options of a job, its dependencies apart', async () => {
    const [before] = await add(1)
    const runAt = rig.clock.now() + 60_000
    const options = {
      run_at: runAt,
      attempts: 3,
      backoff: { base_ms: 10, factor_permille: 2_000, cap_ms: 100, jitter_permille: 0 },
      timeout_ms: 2_000,
      tags: ['n'],
      dedupe_key: 'one',
      depends_on: [before],
    }
    const asked = { kind: 'task', payload: { name: 'resize', args: {} }, ...options }
    const id = await rig.engine.enqueue(asked, { caller: ACME, tier: 'PRO' })
    await rig.engine.cancel(id, 'operator')
    await rig.engine.bulk.start({ ...retry, id: 'op' }, 'operator')
    expect(await settled('op')).toMatchObject({ done: 1, skipped: 0 })
    const again = (await all()).find(({ origin }) => origin?.retryOf === id)
    expect(again?.options).toEqual({
      runAt,
      attempts: 3,
      backoff: { baseMs: 10, factorPermille: 2_000, capMs: 100, jitterPermille: 0 },
      timeoutMs: 2_000,
      tags: ['n'],
      dedupeKey: 'one',
    })
  })

  it('BULK-3: a job waits for the new jobs of those that are retried with it', async () => {
    const task = (name: string, fields: object = {}) =>
      rig.engine.enqueue({ kind: 'task', payload: { name, args: {} }, ...fields }, { caller: ACME })
    const other = await task('other')
    const fetched = await task('fetch')
    const parsed = await task('parse', { depends_on: [fetched] })
    const both = { depends_on: [fetched, parsed, other], on_dependency: 'run' }
    const stored = await task('store', both)
    for (const id of [stored, parsed, fetched, other]) await rig.engine.cancel(id, 'operator')
    const filter = { status: 'CANCELED', caller: ACME } as const
    // A retry of another run is none of this one.
    await rig.engine.bulk.start(
      { ...retry, filter: { ...filter, model: 'fetch' }, id: 'one' },
      'operator',
    )
    await settled('one')
    await rig.engine.bulk.start({ ...retry, filter, limit: 4, id: 'op' }, 'operator')
    expect(await settled('op')).toMatchObject({ done: 4, skipped: 0 })
    const jobs = await all({ status: 'QUEUED' })
    const anew = (id: JobId) => jobs.findLast(({ origin }) => origin?.retryOf === id)
    expect(anew(fetched)?.options).toBeNull()
    expect(anew(parsed)?.options).toEqual({ dependsOn: [anew(fetched)?.id] })
    const ids = [fetched, parsed, other].map((id) => anew(id)?.id)
    expect(anew(stored)?.options).toEqual({ dependsOn: ids, onDependency: 'run' })
    expect(rig.engine.view.waitReason(anew(stored)?.id as JobId)).toBe('dependencies')
  })

  it('BULK-3: a dependency that is not retried with the job is left out', async () => {
    const task = (name: string, fields: object = {}) =>
      rig.engine.enqueue({ kind: 'task', payload: { name, args: {} }, ...fields }, { caller: ACME })
    const fetched = await task('fetch')
    const parsed = await task('parse', { depends_on: [fetched] })
    for (const id of [parsed, fetched]) await rig.engine.cancel(id, 'operator')
    await rig.engine.bulk.start({ ...retry, filter: { model: 'parse' }, id: 'op' }, 'operator')
    await settled('op')
    expect((await all({ status: 'QUEUED' })).map(({ options }) => options)).toEqual([null])
  })

  it('BULK-3: leaves alone what has not ended, and what is COMPLETED', async () => {
    await canceled(1)
    await add(2)
    await rig.engine.bulk.start({ ...retry, filter: { kind: 'task' }, id: 'op' }, 'operator')
    expect(await settled('op')).toMatchObject({ done: 1, skipped: 2 })
  })
})

it('BULK-1: a wait reason is that at the step of its job', async () => {
  const later = { delay_ms: 60_000 }
  const task = (fields: object = {}) =>
    rig.engine.enqueue(
      { kind: 'task', payload: { name: 'a', args: {} }, ...fields },
      { caller: ACME },
    )
  const scheduled = [await task(later), await task(later)]
  await task()
  const filter = { waitReason: 'scheduled' } as const
  expect(await rig.engine.bulk.count({ ...cancelAll, filter })).toEqual([
    { status: 'QUEUED', matches: 2, eligible: 2 },
  ])
  await rig.engine.bulk.start({ ...cancelAll, filter, id: 'op' }, 'operator')
  expect(await settled('op')).toMatchObject({ done: 2, skipped: 0 })
  expect((await all({ status: 'CANCELED' })).map(({ id }) => id)).toEqual(scheduled)
  const ended = rig.engine.bulk.start({ ...cancelAll, action: 'retry', filter }, 'operator')
  await expect(ended).rejects.toThrow(/wait_reason: expected none; a retry touches jobs that have/)
  const wrong = { ...filter, status: 'FAILED' } as const
  const odd = rig.engine.bulk.start({ ...cancelAll, filter: wrong }, 'operator')
  await expect(odd).rejects.toThrow(/wait_reason: expected none beside the status/)
})

it('BULK-2: a wait reason of none of the first jobs does not end the run', async () => {
  await add(300)
  const asked = { kind: 'task', payload: { name: 'a', args: {} }, delay_ms: 60_000 }
  await rig.engine.enqueue(asked, { caller: ACME })
  const filter = { waitReason: 'scheduled' } as const
  await rig.engine.bulk.start({ ...cancelAll, filter, id: 'op' }, 'operator')
  expect(await settled('op')).toMatchObject({ done: 1, skipped: 0 })
})

it('BULK-6: a count touches nothing', async () => {
  const [first] = await add(3)
  await rig.engine.cancel(first as JobId, 'operator')
  const filter = { kind: 'task' } as const
  const count = (action: 'cancel' | 'retry', by: Caller | 'operator' = 'operator') =>
    rig.engine.bulk.count({ action, filter, by })
  const shown = [
    { status: 'CANCELED', matches: 1, eligible: 0 },
    { status: 'QUEUED', matches: 2, eligible: 2 },
  ]
  expect(await count('cancel')).toEqual(shown)
  expect(await count('retry')).toMatchObject([{ eligible: 1 }, { eligible: 0 }])
  expect(await count('cancel', BOB)).toEqual([])
  expect(await all({ status: 'QUEUED' })).toHaveLength(2)
})

it('BULK-1: a wrong one is refused by its field', async () => {
  const wrong = (fields: object) =>
    rig.engine.bulk.start({ ...cancelAll, ...fields } as never, 'operator')
  await expect(wrong({ filter: {} })).rejects.toThrow(/filter: expected at least one field/)
  await expect(wrong({ filter: { colour: 1 } })).rejects.toThrow(/colour/)
  await expect(wrong({ limit: 0 })).rejects.toThrow(/limit/)
  await expect(wrong({ id: 'a b' })).rejects.toThrow(/operation_id: expected 1 to 64/)
})
