import { callerOf, toHex } from '@fairlead/core'
import { sha3 } from '@fairlead/core/internal'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Bench } from './bench.ts'
import { AI, NO_ID, Rig, TASK } from './rig.ts'

let rig: Rig
beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

const FORMS = ['json', 'cbor'] as const

describe('aicf.enqueue', () => {
  it.each(FORMS)('WIRE-1: answers with the receipt of a durable job (%s)', async (form) => {
    const receipt = await rig.call('alice', 'aicf.enqueue', { ...AI, max_fee_u64: 2_500_000 }, form)
    const row = await rig.engine.view.read.job(receipt.task_id)
    expect(receipt).toEqual({
      schema_version: 0,
      task_id: row?.id,
      enqueue_block: Number(row?.enqueueHeight),
      caller: callerOf('alice'),
      kind: 'ai',
      max_fee_u64: 2_500_000,
      accepted: true,
    })
    expect(row).toMatchObject({ tier: 'PRO', caller: callerOf('alice') })
  })

  it('WIRE-1: the same key is the first receipt again, in either form, and after its end', async () => {
    const params = { ...AI, idempotency_key: 'order-17', max_fee_u64: '18446744073709551615' }
    const first = await rig.call('alice', 'aicf.enqueue', params)
    expect(first.max_fee_u64).toBe('18446744073709551615')
    expect(await rig.call('alice', 'aicf.enqueue', params, 'cbor')).toEqual(first)
    await rig.call('alice', 'aicf.cancelJob', { task_id: first.task_id })
    expect(await rig.call('alice', 'aicf.enqueue', { ...params, max_fee_u64: 1 })).toEqual(first)
    const other = { ...TASK, idempotency_key: 'order-17' }
    expect(await rig.outcome('alice', 'aicf.enqueue', other)).toBe('IdempotencyConflict')
    expect(await rig.outcome('bob', 'aicf.enqueue', other)).toBe('ok')
  })

  it.each([
    [{ ...AI, kind: 'registration' }, 'kind'],
    [{ ...AI, caller: '0x12' }, 'caller'],
    [{ ...AI, tier: 'PREMIUM' }, 'tier'],
    [{ ...AI, max_fee_u64: -1 }, 'max_fee_u64'],
    [{ ...AI, max_fee_u64: 2 ** 53 }, 'max_fee_u64'],
    [{ ...AI, payload: { ...AI.payload, prompt: '0xABCD' } }, 'prompt'],
    [{ ...AI, payload: { ...AI.payload, odd: 1 } }, 'odd'],
    [{ ...AI, payload: null }, 'payload'],
    [{ ...AI, payload: { ...AI.payload, max_tokens: 0 } }, 'max_tokens'],
    [{ ...AI, traceparent: 'nonsense' }, 'traceparent'],
    [{ ...AI, ttl_abs_secs: 0 }, 'ttl_abs_secs'],
    [{ ...AI, regions: [] }, 'regions'],
  ])('RPC-5: %j is refused by the name of its field', async (params, field) => {
    const error: unknown = await rig.call('alice', 'aicf.enqueue', params as never).catch((e) => e)
    expect(error).toMatchObject({ code: 'InvalidParams', details: { field } })
  })

  it.each(FORMS)("HOOK-3: a name of the server's own work is refused (%s)", async (form) => {
    const request = { kind: 'task' as const, payload: { name: 'fairlead.webhook.x', args: {} } }
    const refused = { code: 'InvalidParams', details: { field: 'name' } }
    const asked = rig.call('alice', 'aicf.enqueue', request, form)
    await expect(asked).rejects.toMatchObject(refused)
    const schedule = { id: 'own', cron: '0 3 * * *', request }
    await expect(rig.call('alice', 'schedules.put', schedule, form)).rejects.toMatchObject(refused)
    const other = { ...request, payload: { name: 'fairleads', args: {} } }
    expect(await rig.outcome('alice', 'aicf.enqueue', other)).toBe('ok')
  })

  it('WIRE-1: a prompt over its cap is LimitExceeded with the cap', async () => {
    const prompt = `0x${'00'.repeat(65_537)}`
    const params = { ...AI, payload: { ...AI.payload, prompt } }
    const error: unknown = await rig.call('alice', 'aicf.enqueue', params).catch((e) => e)
    expect(error).toMatchObject({
      code: 'LimitExceeded',
      details: { limit: 'prompt', max: 65_536, observed: 65_537 },
    })
  })

  it('WIRE-2: what came with a job is in its timeline, and the trace goes to its worker', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const first = await rig.call('alice', 'aicf.enqueue', TASK)
    const again = { ...TASK, retry_of: first.task_id, traceparent }
    expect(await rig.outcome('bob', 'aicf.enqueue', again)).toBe('Forbidden')
    expect(await rig.outcome('alice', 'aicf.enqueue', { ...again, retry_of: NO_ID })).toBe(
      'NotFound',
    )
    const { task_id } = await rig.call('alice', 'aicf.enqueue', again)
    const bench = await Bench.open(rig)
    const lease = await bench.offered(task_id)
    expect(lease.traceparent).toBe(traceparent)
    const { entries } = await rig.call('alice', 'aicf.getTimeline', { task_id })
    expect(entries[0]?.details).toEqual({ retryOf: first.task_id, traceparent })
    const { job } = await rig.call('alice', 'aicf.getJob', { task_id })
    expect(job.request).toMatchObject({ retry_of: first.task_id, traceparent })
  })

  it('WIRE-2: the same key with another trace is the same job, and keeps the first trace', async () => {
    const [one, other] = ['b7ad6b7169203331', 'b7ad6b7169203332'].map(
      (span) => `00-0af7651916cd43dd8448eb211c80319c-${span}-01`,
    )
    const request = { ...TASK, idempotency_key: 'once' }
    const first = await rig.call('alice', 'aicf.enqueue', { ...request, traceparent: one })
    for (const traced of [{ traceparent: other }, {}, { retry_of: first.task_id }]) {
      expect(await rig.call('alice', 'aicf.enqueue', { ...request, ...traced })).toEqual(first)
    }
    const { job } = await rig.call('alice', 'aicf.getJob', { task_id: first.task_id })
    expect(job.request).toMatchObject({ retry_of: null, traceparent: one })
  })
})

describe('reading jobs', () => {
  it('RPC-6: a job from enqueue to its result reads the same in both forms', async () => {
    const bench = await Bench.open(rig)
    const { task_id } = await rig.call('alice', 'aicf.enqueue', { ...AI, regions: null })
    const same = async () => {
      const [json, cbor] = await Promise.all(
        FORMS.map((form) => rig.call('alice', 'aicf.getJob', { task_id }, form)),
      )
      expect(cbor).toEqual(json)
      return json as NonNullable<typeof json>
    }
    const { lease_id } = await bench.offered(task_id)
    expect(await same()).toMatchObject({ status: 'ASSIGNED', result: null })
    await bench.call('aicf.ackLease', lease_id)
    const running = await same()
    expect(running.job).toMatchObject({
      status: 'RUNNING',
      provider_id: 'provider:atlas',
      lease: { lease_id, is_acked: true, max_renewals: null, ttl_seconds: 600, renewals: 0 },
      request: {
        payload: { ...AI.payload, qos_hint_ms: 0 },
        tier: 'PRO',
      },
    })
    expect(running.job.timestamps.started).toBeGreaterThanOrEqual(running.job.timestamps.enqueued)
    const output = '0x646f6e65'
    const meta = { tokens: 5, ratio: 0.25, words: ['a', null, true] }
    await bench.call('aicf.completeLease', lease_id, {
      output,
      meta,
      actual_units: 1,
      actual_tokens: 12,
    })
    const done = await same()
    const digest = toHex(sha3(Buffer.from('done')))
    expect(done.result).toMatchObject({ output_digest: digest, output, meta, units: 1, kind: 'ai' })
    for (const form of FORMS) {
      expect(await rig.call('alice', 'aicf.getResult', { task_id }, form)).toEqual(done.result)
      const explained = await rig.call('alice', 'aicf.explainJob', { task_id }, form)
      expect(explained).toMatchObject({
        status: 'COMPLETED',
        end: { status: 'COMPLETED', digest },
        attempts: [{ lease: { lease_id, status: 'COMPLETED' }, round: { place: 1 } }],
      })
      expect(explained.text).toContain('provider:atlas')
      const { entries } = await rig.call('alice', 'aicf.getTimeline', { task_id }, form)
      expect(entries.map(({ action }) => action)).toEqual([
        'jobEnqueued',
        'jobAssigned',
        'jobStarted',
        'jobCompleted',
      ])
    }
  })

  it('WIRE-3: a waiting job says why it waits', async () => {
    const { task_id } = await rig.call('alice', 'aicf.enqueue', AI)
    const { job } = await rig.call('alice', 'aicf.getJob', { task_id })
    expect(job.wait_reason).toBe('no_provider')
    await rig.call('operator', 'aicf.registerProvider', {
      provider_id: 'provider:atlas',
      kinds: ['ai'],
    })
    for (const form of FORMS) {
      const explained = await rig.call('alice', 'aicf.explainJob', { task_id }, form)
      expect(explained).toMatchObject({
        wait_reason: 'no_provider',
        waiting: {
          place: 1,
          of: 1,
          providers: [{ provider_id: 'provider:atlas', refusal: 'model_unsupported' }],
        },
      })
    }
  })

  it('AUTH-4: a requester sees and cancels its own jobs only', async () => {
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const methods = ['getJob', 'getResult', 'explainJob', 'getTimeline', 'cancelJob'] as const
    for (const method of methods) {
      expect(await rig.outcome('bob', `aicf.${method}`, { task_id }), method).toBe('Forbidden')
      expect(await rig.outcome('bob', `aicf.${method}`, { task_id: NO_ID }), method).toBe(
        'NotFound',
      )
    }
    expect(await rig.outcome('operator', 'aicf.getJob', { task_id })).toBe('ok')
    expect(await rig.outcome('auditor', 'aicf.getTimeline', { task_id })).toBe('ok')
    expect(await rig.call('alice', 'aicf.cancelJob', { task_id })).toEqual({
      task_id,
      status: 'CANCELED',
    })
    expect(await rig.outcome('operator', 'aicf.cancelJob', { task_id })).toBe('InvalidState')
    expect(await rig.outcome('alice', 'aicf.getResult', { task_id })).toBe('InvalidState')
  })

  it('WIRE-3: a result that is not there yet, or never will be, has an error of its own', async () => {
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    expect(await rig.outcome('alice', 'aicf.getResult', { task_id })).toBe('NoResultYet')
    expect(await rig.outcome('alice', 'aicf.getResult', { task_id: NO_ID })).toBe('NotFound')
  })

  it('WIRE-4: the newest come first where that is asked for, page by page', async () => {
    const ids = []
    for (let i = 0; i < 5; i++) ids.push((await rig.call('alice', 'aicf.enqueue', TASK)).task_id)
    const newest = { order: 'newest', limit: 2 } as const
    const seen: string[] = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const given = cursor === undefined ? newest : { ...newest, cursor }
      const page = await rig.call('alice', 'aicf.listJobs', given)
      seen.push(...page.jobs.map(({ task_id }) => task_id))
      cursor = page.cursor
    }
    expect(seen).toEqual(ids.reverse())
  })

  it('WIRE-4: lists go page by page, by filters, and a requester lists its own', async () => {
    for (let i = 0; i < 7; i++) await rig.call('alice', 'aicf.enqueue', i % 2 === 0 ? AI : TASK)
    await rig.call('bob', 'aicf.enqueue', TASK)
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<typeof list>> = await list(cursor)
      seen.push(...page.jobs.map(({ task_id }) => task_id))
      cursor = page.cursor
    } while (cursor !== null)
    expect(new Set(seen).size).toBe(7)
    const all = await rig.call('operator', 'aicf.listJobs', {}, 'cbor')
    expect(all.jobs).toHaveLength(8)
    expect(all).toEqual(await rig.call('operator', 'aicf.listJobs', {}))
    const { jobs } = await rig.call('operator', 'aicf.listJobs', { kind: 'ai', status: 'QUEUED' })
    expect(jobs.map(({ kind }) => kind)).toEqual(['ai', 'ai', 'ai', 'ai'])
    const bobs = callerOf('bob')
    const ofBob = await rig.call('operator', 'aicf.listJobs', { caller: bobs, after_height: 0 })
    expect(ofBob.jobs.map(({ request }) => request.caller)).toEqual([bobs])
    expect(await rig.outcome('alice', 'aicf.listJobs', { caller: bobs })).toBe('Forbidden')
    expect(await rig.outcome('alice', 'aicf.listJobs', { cursor: 'x' })).toBe('InvalidParams')
    expect(await rig.outcome('alice', 'aicf.listJobs', { limit: 1_001 })).toBe('InvalidParams')

    function list(from: string | null) {
      return rig.call('alice', 'aicf.listJobs', {
        limit: 3,
        ...(from === null ? {} : { cursor: from }),
      })
    }
  })
})

describe('options of a job over the wire', () => {
  const backoff = { base_ms: 5, factor_permille: 2_000, cap_ms: 50, jitter_permille: 0 }

  it.each(FORMS)(
    'OPTIONS-1: they come in and stand in the record, as they were given (%s)',
    async (form) => {
      const first = await rig.call('alice', 'aicf.enqueue', TASK, form)
      const options = {
        run_at: rig.engine.view.now + 60_000,
        attempts: 2,
        backoff,
        timeout_ms: 5_000,
        priority: -4,
        tags: ['a', 'b:c'],
        dedupe_key: 'd',
        depends_on: [first.task_id],
        on_dependency: 'run' as const,
      }
      const { task_id } = await rig.call('alice', 'aicf.enqueue', { ...TASK, ...options }, form)
      const { job } = await rig.call('alice', 'aicf.getJob', { task_id }, form)
      expect(job.request.options).toEqual(options)
      expect(job.wait_reason).toBe('scheduled')
      const { waiting, text } = await rig.call('alice', 'aicf.explainJob', { task_id }, form)
      expect(waiting).toMatchObject({ depends_on: [first.task_id], priority: -4 })
      expect(text).toContain('It is scheduled: not before')
      expect(text).toContain('Its options: not before')
      const repeat = { ...TASK, dedupe_key: 'd', idempotency_key: `other-${form}` }
      expect(await rig.call('alice', 'aicf.enqueue', repeat, form)).toMatchObject({
        task_id,
        deduplicated: true,
      })
      const { jobs } = await rig.call('alice', 'aicf.listJobs', { tag: 'b:c' }, form)
      expect(jobs.map((one) => one.task_id)).toEqual([task_id])
    },
  )

  it('OPTIONS-8: a job that nobody knows ends the one that depends on it, and the event says why', async () => {
    const params = { ...TASK, depends_on: [NO_ID] }
    const { task_id } = await rig.call('alice', 'aicf.enqueue', params)
    const { job } = await rig.call('alice', 'aicf.getJob', { task_id })
    expect(job).toMatchObject({ status: 'CANCELED', reason: 'dependency_failed' })
    const { entries } = await rig.call('alice', 'aicf.getTimeline', { task_id })
    expect(entries.at(-1)).toMatchObject({
      action: 'jobCanceled',
      details: { reason: 'dependency_failed' },
    })
  })

  it('OPTIONS-11: lists are narrowed by key, error, wait reason and time', async () => {
    const params = { ...TASK, idempotency_key: 'order-9', delay_ms: 60_000 }
    const { task_id } = await rig.call('alice', 'aicf.enqueue', params)
    const list = async (filter: object) =>
      (await rig.call('alice', 'aicf.listJobs', filter)).jobs.map((job) => job.task_id)
    expect(await list({ idempotency_key: 'order-9' })).toEqual([task_id])
    expect(await list({ wait_reason: 'scheduled' })).toEqual([task_id])
    expect(await list({ wait_reason: 'dependencies' })).toEqual([])
    expect(await list({ since: 0, until: rig.engine.view.now + 1 })).toEqual([task_id])
    expect(await list({ since: rig.engine.view.now + 1 })).toEqual([])
    expect(await list({ error: 'oom' })).toEqual([])
  })

  it.each([
    [{ attempts: 0 }, 'attempts'],
    [{ timeout_ms: 999 }, 'timeout_ms'],
    [{ priority: 101 }, 'priority'],
    [{ tags: ['no space'] }, 'tags'],
    [{ backoff: { ...backoff, base_ms: -1 } }, 'backoff'],
    [{ delay_ms: 1, run_at: 1 }, 'delay_ms'],
    [{ on_dependency: 'run' }, 'on_dependency'],
  ])('OPTIONS-1: %j is refused by the name of its field', async (given, field) => {
    const params = { ...TASK, ...given } as never
    const error = await rig.call('alice', 'aicf.enqueue', params).catch((e: unknown) => e)
    const { code, details } = error as { code: string; details: { field: string } }
    expect(code).toBe('InvalidParams')
    expect(details.field.startsWith(field)).toBe(true)
  })
})
