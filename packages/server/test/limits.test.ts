import { createLimiter, memory } from '@fairlead/limiter'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Rig } from './rig.ts'

const START = 1_767_261_600_000
const FORMS = ['json', 'cbor'] as const

let rig: Rig
let now: number
beforeEach(async () => {
  now = START
  const limiter = createLimiter({ backend: memory({ clock: { now: () => now } }), limits: [] })
  rig = await Rig.open({ limiter })
})
afterEach(() => rig.close())

const rolling = (key: string, capacity: number) =>
  ({ key, kind: 'rolling', capacity, window_seconds: 60 }) as const
const one = (lease_id: string, amount: number, key = 'k') => ({
  lease_id,
  requirements: [{ key, amount }],
})

describe.each(FORMS)('limits over JSON-RPC (%s)', (form) => {
  it('WIRE-10: are defined, shown, reserved and completed', async () => {
    const defined = await rig.call('operator', 'limits.define', { limit: rolling('k', 10) }, form)
    expect(defined.limit).toEqual({
      definition: { ...rolling('k', 10), overage: 'debt' },
      state: 'active',
      pending_decrease_to: null,
      held: 0,
      level_micro: null,
    })
    expect(await rig.call('alice', 'limits.reserve', one('a', 8), form)).toEqual({
      allowed: true,
      retry_after_ms: 0,
      reserved_at_unix_ms: START,
      error: null,
      denied_key: null,
      detail: null,
    })
    expect(await rig.call('atlas', 'limits.reserve', one('b', 3), form)).toMatchObject({
      allowed: false,
      retry_after_ms: 60_538,
      denied_key: 'k',
      error: null,
    })
    const actuals = [{ key: 'k', actual_amount: 4 }]
    const done = await rig.call('alice', 'limits.complete', { lease_id: 'a', actuals }, form)
    expect(done).toEqual({ ok: true, error: null, detail: null })
    const { limit } = await rig.call('alice', 'limits.get', { key: 'k' }, form)
    expect(limit.held).toBe(4)
  })

  it('WIRE-10: all four kinds come back as they were given', async () => {
    const bucket = { key: 'b', kind: 'bucket', burst: 5, rate: 0.125, overage: 'debt' } as const
    const slots = {
      key: 'c',
      kind: 'concurrency',
      capacity: 2,
      timeout_seconds: 30,
      overage: 'deny',
      unit: 'requests',
      description: 'at one time',
    } as const
    const day = { ...rolling('d', 2 ** 53 - 1), kind: 'fixed', overage: 'debt' } as const
    for (const limit of [day, slots, bucket]) {
      await rig.call('operator', 'limits.define', { limit }, form)
    }
    const { limits, cursor } = await rig.call('auditor', 'limits.list', {}, form)
    expect(limits.map(({ definition }) => definition)).toEqual([bucket, slots, day])
    expect(limits[0]).toMatchObject({ held: null, level_micro: 5_000_000 })
    expect(cursor).toBe(null)
  })

  it('WIRE-10: what is held past 2^53 − 1 is told in digits', async () => {
    const most = 2 ** 53 - 1
    await rig.call('operator', 'limits.define', { limit: rolling('k', most) }, form)
    for (const lease_id of ['a', 'b']) {
      await rig.call('alice', 'limits.reserve', one(lease_id, 1), form)
    }
    for (const lease_id of ['a', 'b']) {
      const actuals = [{ key: 'k', actual_amount: most }]
      await rig.call('alice', 'limits.complete', { lease_id, actuals }, form)
    }
    const { limit } = await rig.call('operator', 'limits.get', { key: 'k' }, form)
    expect(limit.held).toBe('18014398509481982')
  })

  it('HTTP-3: a batch is decided one by one, in order, and a malformed item refuses no other', async () => {
    await rig.call('operator', 'limits.define', { limit: rolling('k', 10) }, form)
    const requests = [
      one('a', 6),
      { lease_id: 'b' },
      one('c', 6),
      one('d', 0),
      one('e', 4),
      { ...one('f', 1), odd: 1 },
      null,
      one('g', 1, 'x'),
    ]
    const { results } = await rig.call(
      'alice',
      'limits.reserveMany',
      { requests: requests as ReturnType<typeof one>[] },
      form,
    )
    expect(results.map(({ allowed, error }) => error ?? allowed)).toEqual([
      true,
      'invalid_request',
      false,
      'invalid_request',
      true,
      'invalid_request',
      'invalid_request',
      'unknown_limit_key:x',
    ])
    expect(results[1]?.detail).toContain('requirements')
    expect(results[5]?.detail).toContain('odd: there is no such field')
    const done = await rig.call(
      'alice',
      'limits.completeMany',
      { requests: [{ lease_id: 'a' }, { lease_id: '' }, { lease_id: 'never' }] },
      form,
    )
    expect(done.results.map(({ ok, error }) => error ?? ok)).toEqual([
      true,
      'invalid_request',
      true,
    ])
  })

  it.each([
    ['limits.reserve', { lease_id: '', requirements: [{ key: 'k', amount: 1 }] }, 'lease_id'],
    ['limits.reserve', one('a', 0), 'requirements.0.amount'],
    ['limits.reserve', one('a', 1.5), 'requirements.0.amount'],
    ['limits.reserve', { lease_id: 'a', requirements: [] }, 'requirements'],
    ['limits.reserve', one('a', 1, 'x'.repeat(257)), 'requirements.0.key'],
    ['limits.reserve', one('a', 1, 'é'.repeat(129)), 'requirements.0.key'],
    ['limits.reserveMany', { requests: [] }, 'requests'],
    ['limits.reserveMany', { requests: Array(257).fill(one('a', 1)) }, 'requests'],
    ['limits.complete', { lease_id: 'a', actuals: [{ key: 'k', amount: 1 }] }, 'actuals.0'],
    ['limits.define', { limit: { ...rolling('k', 0) } }, 'limit.capacity'],
    ['limits.define', { limit: { ...rolling('k', 1), burst: 1 } }, 'limit.burst'],
    [
      'limits.define',
      { limit: { key: 'k', kind: 'bucket', burst: 1, rate: 0.0001 } },
      'limit.rate',
    ],
    ['limits.define', { limit: { key: 'k', kind: 'bucket', burst: 1, rate: 0.1234 } }, 'rate'],
    ['limits.define', { limit: { key: 'k', kind: 'daily', capacity: 1 } }, 'limit.kind'],
    ['limits.list', { limit: 1_001 }, 'limit'],
  ] as const)('RPC-5: %s refuses %j by its field', async (method, params, field) => {
    const call = rig.call('operator', method, params as never, form)
    await expect(call).rejects.toMatchObject({
      code: 'InvalidParams',
      message: expect.stringContaining(field) as string,
    })
  })

  it('LIMIT-13: another kind for a key is refused, a lower capacity waits', async () => {
    await rig.call('operator', 'limits.define', { limit: rolling('k', 10) }, form)
    const other = { ...rolling('k', 10), kind: 'fixed' } as const
    expect(await rig.outcome('operator', 'limits.define', { limit: other }, form)).toBe(
      'InvalidParams',
    )
    await rig.call('alice', 'limits.reserve', one('a', 8), form)
    const lower = await rig.call('operator', 'limits.define', { limit: rolling('k', 5) }, form)
    expect(lower.limit).toMatchObject({
      definition: { capacity: 10 },
      state: 'decreasing',
      pending_decrease_to: 5,
    })
    expect(await rig.call('alice', 'limits.reserve', one('b', 1), form)).toMatchObject({
      error: 'limit_decreasing:k',
      retry_after_ms: 10_000,
    })
    now += 60_538
    expect(await rig.call('alice', 'limits.reserve', one('c', 5), form)).toMatchObject({
      allowed: true,
    })
  })
})

it('WIRE-4: limits are listed page by page, in order of key', async () => {
  for (const key of ['c', 'a', 'b']) {
    await rig.call('operator', 'limits.define', { limit: rolling(key, 1) })
  }
  const first = await rig.call('operator', 'limits.list', { limit: 2 })
  expect(first.limits.map(({ definition: { key } }) => key)).toEqual(['a', 'b'])
  expect(first.cursor).toBe('b')
  const rest = await rig.call('operator', 'limits.list', { limit: 2, cursor: 'b' })
  expect(rest.limits.map(({ definition: { key } }) => key)).toEqual(['c'])
  expect(rest.cursor).toBe(null)
})

it('HTTP-1: who may define limits is not who may use them', async () => {
  await rig.call('operator', 'limits.define', { limit: rolling('k', 1) })
  for (const person of ['alice', 'atlas', 'auditor'] as const) {
    expect(await rig.outcome(person, 'limits.define', { limit: rolling('k', 2) })).toBe('Forbidden')
  }
  for (const person of ['alice', 'atlas'] as const) {
    expect(await rig.outcome(person, 'limits.list')).toBe('Forbidden')
    expect(await rig.outcome(person, 'limits.get', { key: 'k' })).toBe('ok')
  }
  expect(await rig.outcome('auditor', 'limits.reserve', one('a', 1))).toBe('Forbidden')
  expect(await rig.outcome('operator', 'limits.get', { key: 'x' })).toBe('NotFound')
})

it('AUTH-7: a limit that is defined is an entry of the audit log', async () => {
  await rig.call('operator', 'limits.define', { limit: rolling('k', 1) })
  const { entries } = await rig.call('auditor', 'audit.list', {})
  const [operator] = rig.tokenFile.list().filter(({ role }) => role === 'operator')
  const actor = `token:${operator?.id}`
  expect(entries.at(-1)).toMatchObject({ action: 'limitDefined', subject: 'k', actor })
})
