import { toHex } from '@fairlead/core'
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
const CALLS = ['ack', 'renew', 'decline', 'release', 'complete', 'fail'] as const
const MORE: Record<string, object> = {
  complete: { output: '0x00' },
  fail: { code: 'oops' },
}

describe('calls on a lease', () => {
  it('WIRE-5: an assignment has the lease, its terms and the work', async () => {
    const bench = await Bench.open(rig)
    const { task_id } = await rig.call('alice', 'aicf.enqueue', AI)
    const lease = await bench.offered(task_id)
    expect(lease).toMatchObject({
      provider_id: 'provider:atlas',
      attempt: 0,
      status: 'ACTIVE',
      ttl_seconds: 600,
      renewals: 0,
      max_renewals: null,
      issued_at: lease.t_start / 1_000,
      t_deadline: lease.t_start + 600_000,
      renew_by: lease.t_start + 360_000,
      ack_by: lease.t_start + 5_000,
      kind: 'ai',
      model: 'llama3-8b',
      payload: { ...AI.payload, qos_hint_ms: 0 },
    })
  })

  it.each(FORMS)('WIRE-5: acked, renewed and completed over HTTP (%s)', async (form) => {
    const bench = await Bench.open(rig)
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { lease_id } = await bench.offered(task_id)
    const of = { lease_id, worker_id: 'w-1' }
    expect(await rig.outcome('atlas', 'aicf.renewLease', of, form)).toBe('InvalidState')
    for (let i = 0; i < 2; i++) {
      expect(await rig.call('atlas', 'aicf.ackLease', of, form)).toEqual({ accepted: true })
    }
    const { at, lease } = await rig.call('atlas', 'aicf.renewLease', of, form)
    expect(lease).toMatchObject({ lease_id, status: 'RENEWED', renewals: 1, is_acked: true })
    expect(lease.t_deadline).toBe(lease.t_start + 900_000)
    expect(at).toBeGreaterThanOrEqual(lease.t_start)
    const output_digest = toHex(sha3(Buffer.from('elsewhere')))
    const done = { ...of, output_digest }
    for (let i = 0; i < 2; i++) {
      expect(await rig.call('atlas', 'aicf.completeLease', done, form)).toEqual({ accepted: true })
    }
    const other = { ...of, output: '0x01' }
    expect(await rig.outcome('atlas', 'aicf.completeLease', other, form)).toBe('LeaseNotLive')
    const result = await rig.call('alice', 'aicf.getResult', { task_id }, form)
    expect(result).toMatchObject({ output_digest, output: null, proof_refs: [], lease_id })
  })

  it('AUTH-4: only the holder acts on a lease', async () => {
    const bench = await Bench.open(rig)
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { lease_id } = await bench.offered(task_id)
    for (const call of CALLS) {
      const method = `aicf.${call}Lease` as const
      const params = { lease_id, ...MORE[call] }
      expect(await rig.outcome('borea', method, params), call).toBe('Forbidden')
      const posing = { ...params, provider_id: 'provider:atlas' }
      expect(await rig.outcome('borea', method, posing), call).toBe('Forbidden')
      const another = { ...params, worker_id: 'w-2' }
      expect(await rig.outcome('atlas', method, another), call).toBe('Forbidden')
      expect(await rig.outcome('atlas', method, { ...params, lease_id: NO_ID }), call).toBe(
        'NotFound',
      )
      expect(await rig.outcome('admin', method, params), call).toBe('InvalidParams')
    }
    const byAdmin = { lease_id, provider_id: 'provider:atlas' }
    expect(await rig.outcome('admin', 'aicf.ackLease', byAdmin)).toBe('ok')
  })

  it('WIRE-5: failed, declined and released leases bring their jobs back', async () => {
    const bench = await Bench.open(rig)
    for (const [method, more, job] of [
      ['aicf.failLease', { code: 'out_of_memory' }, { status: 'QUEUED', retries: 1 }],
      [
        'aicf.failLease',
        { code: 'no_such_model', permanent: true },
        { status: 'FAILED', retries: 1 },
      ],
      ['aicf.declineLease', {}, { status: 'QUEUED', declines: 1, retries: 0 }],
    ] as const) {
      const { task_id } = await rig.call('alice', 'aicf.enqueue', {
        kind: 'task',
        payload: { name: `t-${Math.random()}`, args: {} },
      })
      const { lease_id } = await bench.offered(task_id)
      await bench.call(method, lease_id, more)
      expect((await rig.call('alice', 'aicf.getJob', { task_id })).job).toMatchObject(job)
    }
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { lease_id } = await bench.offered(task_id)
    await bench.call('aicf.releaseLease', lease_id)
    const again = await bench.offered(task_id, 1)
    expect(again.lease_id).not.toBe(lease_id)
  })

  it('WIRE-5: what a completion may carry has limits', async () => {
    const bench = await Bench.open(rig)
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { lease_id } = await bench.offered(task_id)
    const of = { lease_id, worker_id: 'w-1' }
    for (const [more, code] of [
      [{ output: '0x0' }, 'InvalidParams'],
      [{ output: '0x00', output_digest: NO_ID }, 'InvalidParams'],
      [{ output: `0x${'00'.repeat(262_145)}` }, 'LimitExceeded'],
      [{ output: '0x00', meta: { text: 'x'.repeat(16_384) } }, 'LimitExceeded'],
      [{ output: '0x00', meta: { huge: 2 ** 60 } }, 'InvalidParams'],
      [{ output: '0x00', meta: { lone: '\ud800' } }, 'InvalidParams'],
      [{ output: '0x00', content_type: '' }, 'InvalidParams'],
      [{ output: '0x00', content_type: 'x'.repeat(129) }, 'InvalidParams'],
    ] as const) {
      expect(
        await rig.outcome('atlas', 'aicf.completeLease', { ...of, ...more }),
        JSON.stringify(more).slice(0, 60),
      ).toBe(code)
    }
    expect(await rig.outcome('atlas', 'aicf.completeLease', { ...of, output: '0x' })).toBe('ok')
  })
})

describe('what a worker says of its work', () => {
  async function leased(): Promise<{ bench: Bench; task_id: string; lease_id: string }> {
    const bench = await Bench.open(rig)
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { lease_id } = await bench.offered(task_id)
    return { bench, task_id, lease_id }
  }

  it.each(FORMS)('WIRE-12: an output has a content type (%s)', async (form) => {
    const { task_id, lease_id } = await leased()
    const content_type = `application/${'x'.repeat(116)}`
    const done = { lease_id, worker_id: 'w-1', output: '0x7b7d', content_type }
    expect(await rig.outcome('atlas', 'aicf.completeLease', done, form)).toBe('ok')
    const result = await rig.call('alice', 'aicf.getResult', { task_id }, form)
    expect(result).toMatchObject({ output: '0x7b7d', content_type })
  })

  it.each(FORMS)('WIRE-12: a completion may have no output at all (%s)', async (form) => {
    const { task_id, lease_id } = await leased()
    const done = { lease_id, worker_id: 'w-1' }
    expect(await rig.outcome('atlas', 'aicf.completeLease', done, form)).toBe('ok')
    const result = await rig.call('alice', 'aicf.getResult', { task_id }, form)
    expect(result).toMatchObject({ output: null, content_type: null })
    expect(result.output_digest).toBe(toHex(sha3(new Uint8Array())))
  })

  it.each(FORMS)('WIRE-12: an output without a content type has none (%s)', async (form) => {
    const { task_id, lease_id } = await leased()
    await rig.call('atlas', 'aicf.completeLease', { lease_id, output: '0x' }, form)
    const result = await rig.call('alice', 'aicf.getResult', { task_id }, form)
    expect(result).toMatchObject({ output: '0x', content_type: null })
  })

  it.each(FORMS)('FAIL-1: a failure has a code, a message and details (%s)', async (form) => {
    const { task_id, lease_id } = await leased()
    const details = { exit_code: 137, nested: { list: [1, 0.5, null, 'x'] } }
    const failure = {
      code: 'oom killed',
      message: 'out of memory',
      details,
      retry_after_ms: 60_000,
    }
    await rig.call('atlas', 'aicf.failLease', { lease_id, ...failure }, form)
    const { job } = await rig.call('alice', 'aicf.getJob', { task_id }, form)
    expect(job.last_error).toMatchObject({
      code: 'oom_killed',
      message: 'out of memory',
      attempt: 0,
    })
    expect(job.errors).toMatchObject([{ attempt: 0, code: 'oom_killed', details }])
    expect(job.not_before).toBeGreaterThanOrEqual((job.last_error?.at ?? 0) + 60_000)
  })

  it('FAIL-1: nothing of a failure has to be said', async () => {
    const { task_id, lease_id } = await leased()
    await rig.call('atlas', 'aicf.failLease', { lease_id })
    const { job } = await rig.call('alice', 'aicf.getJob', { task_id })
    expect(job).toMatchObject({ status: 'QUEUED', retries: 1 })
    expect(job.last_error).toMatchObject({ code: 'error', message: null })
    expect(job.errors).toMatchObject([{ details: null }])
  })

  it('FAIL-2: a message or a code is cut and never refused for its length; other nonsense is', async () => {
    const { task_id, lease_id } = await leased()
    const refused = [{ details: 'text' }, { details: { huge: 2 ** 60 } }, { retry_after_ms: -1 }]
    for (const more of refused) {
      const outcome = await rig.outcome('atlas', 'aicf.failLease', { lease_id, ...more })
      expect(outcome, JSON.stringify(more).slice(0, 40)).toBe('InvalidParams')
    }
    const message = 'y'.repeat(100_000)
    await rig.call('atlas', 'aicf.failLease', { lease_id, code: 'Ü'.repeat(1_000), message })
    const { last_error } = (await rig.call('alice', 'aicf.getJob', { task_id })).job
    expect(last_error?.code).toBe('_'.repeat(64))
    expect(Buffer.byteLength(last_error?.message ?? '')).toBeLessThanOrEqual(4_096)
    expect(last_error?.message).toMatch(/^y+ …$/)
  })
})

describe('a notice', () => {
  const hello = { worker_id: 'w-9', slots: 2, kinds: ['task' as const], models: ['*'] }
  const suspended = {
    reason: 'provider_not_active',
    message: expect.stringContaining('it is SUSPENDED'),
  }
  const set = (status: 'SUSPENDED' | 'ACTIVE') =>
    rig.call('operator', 'aicf.setProviderStatus', { provider_id: 'provider:atlas', status })

  it.each(FORMS)('WORKER-15: is in the answer to each poll while it holds (%s)', async (form) => {
    const poll = async (more: object) =>
      (await rig.call('atlas', 'aicf.pollLeases', { ...hello, wait_ms: 20, ...more }, form)).notice
    expect(await poll({})).toBe(null)
    await set('SUSPENDED')
    expect(await poll({})).toEqual(suspended)
    const { kinds: _, models: __, ...same } = hello
    const again = { ...same, wait_ms: 20 }
    for (let i = 0; i < 2; i++) {
      expect((await rig.call('atlas', 'aicf.pollLeases', again, form)).notice).toEqual(suspended)
    }
    await set('ACTIVE')
    expect((await rig.call('atlas', 'aicf.pollLeases', again, form)).notice).toBe(null)
  })

  it('WORKER-15: is pushed when it changes', async () => {
    const { socket } = await Bench.open(rig)
    await set('SUSPENDED')
    const first = await socket.find(({ method }) => method === 'leases.notice')
    expect(first.params).toEqual({
      provider_id: 'provider:atlas',
      worker_id: 'w-1',
      notice: suspended,
    })
    await set('ACTIVE')
    await socket.find(
      ({ method, params }) => method === 'leases.notice' && params?.['notice'] === null,
    )
  })
})

describe('aicf.pollLeases', () => {
  const hello = { worker_id: 'w-9', slots: 2, kinds: ['task' as const], models: ['*'] }

  it.each(FORMS)(
    'POLL-1: waits for a lease, and is answered as soon as there is one (%s)',
    async (form) => {
      const polled = rig.call('atlas', 'aicf.pollLeases', hello, form)
      await rig.call('alice', 'aicf.enqueue', TASK)
      const { leases } = await polled
      expect(leases).toMatchObject([{ kind: 'task', payload: TASK.payload, attempt: 0 }])
      const lease_id = leases[0]?.lease_id as string
      expect(await rig.outcome('atlas', 'aicf.ackLease', { lease_id, worker_id: 'w-9' })).toBe('ok')
    },
  )

  it('POLL-1: is answered with nothing when its time is over', async () => {
    const polled = await rig.call('atlas', 'aicf.pollLeases', { ...hello, wait_ms: 20 })
    expect(polled).toEqual({ leases: [], held: [], lost: [], notice: null })
    const again = await rig.call('atlas', 'aicf.pollLeases', {
      worker_id: 'w-9',
      slots: 2,
      wait_ms: 0,
    })
    expect(again).toEqual({ leases: [], held: null, lost: [], notice: null })
  })

  it('POLL-2: takes nothing between two polls, and keeps what it has', async () => {
    await rig.call('atlas', 'aicf.pollLeases', { ...hello, wait_ms: 0 })
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const { job } = await rig.call('alice', 'aicf.getJob', { task_id })
    expect(job).toMatchObject({ status: 'QUEUED', wait_reason: 'no_provider' })
    const { leases } = await rig.call('atlas', 'aicf.pollLeases', { worker_id: 'w-9', slots: 2 })
    expect(leases).toHaveLength(1)
    const { provider } = await rig.call('atlas', 'aicf.getProvider', {
      provider_id: 'provider:atlas',
    })
    expect(provider.workers).toMatchObject([
      { worker_id: 'w-9', slots: 0, leases: 1, gone_since: null },
    ])
  })

  it('POLL-2: is told of a lease that it lost', async () => {
    const polled = rig.call('atlas', 'aicf.pollLeases', hello)
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const lease_id = (await polled).leases[0]?.lease_id as string
    await rig.call('atlas', 'aicf.ackLease', { lease_id, worker_id: 'w-9' })
    const next = rig.call('atlas', 'aicf.pollLeases', { worker_id: 'w-9', slots: 2 })
    await rig.call('alice', 'aicf.cancelJob', { task_id })
    expect(await next).toEqual({
      leases: [],
      held: null,
      lost: [{ lease_id, reason: 'job_ended' }],
      notice: null,
    })
  })

  it('POLL-2: who comes back and names nothing gives back what it had', async () => {
    const polled = rig.call('atlas', 'aicf.pollLeases', hello)
    const { task_id } = await rig.call('alice', 'aicf.enqueue', TASK)
    const lease_id = (await polled).leases[0]?.lease_id as string
    await rig.call('atlas', 'aicf.ackLease', { lease_id, worker_id: 'w-9' })
    const back = await rig.call('atlas', 'aicf.pollLeases', {
      ...hello,
      holds: [lease_id],
      wait_ms: 0,
    })
    expect(back.held).toMatchObject([{ lease_id }])
    const empty = await rig.call('atlas', 'aicf.pollLeases', { ...hello, holds: [], wait_ms: 0 })
    expect(empty).toMatchObject({ leases: [], held: [] })
    // It was under way: the job may be what ended the worker, so it waits a little, uncharged.
    const { job } = await rig.call('alice', 'aicf.getJob', { task_id })
    expect(job).toMatchObject({ status: 'QUEUED', wait_reason: 'backoff', retries: 0 })
    expect(job.last_error).toMatchObject({ code: 'worker_lost', attempt: 0 })
  })

  it('POLL-1: a second poll of a worker takes the place of the first', async () => {
    const first = rig.call('atlas', 'aicf.pollLeases', hello)
    await rig.call('alice', 'aicf.getJob', { task_id: NO_ID }).catch(() => undefined)
    const second = rig.call('atlas', 'aicf.pollLeases', { worker_id: 'w-9', slots: 2 })
    expect((await first).leases).toEqual([])
    await rig.call('alice', 'aicf.enqueue', TASK)
    expect((await second).leases).toHaveLength(1)
  })

  it('POLL-1: wait_ms is at most 30 s, and push needs a socket', async () => {
    expect(await rig.outcome('atlas', 'aicf.pollLeases', { ...hello, wait_ms: 30_001 })).toBe(
      'InvalidParams',
    )
    expect(await rig.outcome('atlas', 'aicf.pollLeases', { ...hello, push: true })).toBe(
      'InvalidState',
    )
    expect(
      await rig.outcome('atlas', 'aicf.pollLeases', { ...hello, provider_id: 'provider:borea' }),
    ).toBe('Forbidden')
  })
})
