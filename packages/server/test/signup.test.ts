import { inspect } from 'node:util'
import { encodeCbor, FairleadError, toHex } from '@fairlead/core'
import { NO_ROWS } from '@fairlead/core/internal'
import type { ParamsOf } from '@fairlead/protocol'
import { dateText } from '@fairlead/signup/records'
import parsePrometheus from 'parse-prometheus-text-format'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Bench } from './bench.ts'
import { type Person, Rig } from './rig.ts'

const FORMS = ['json', 'cbor'] as const
const SESSION = { provider: 'bookeo', org_ref: 'org-1', event_id: 'swim' }
const POLICY = {
  sessions: {
    platforms: {
      bookeo: { max_concurrency: 10, max_rps: 0.1, burst: 10, min_spacing_ms: 0, window_ms: 0 },
    },
  },
}

/** A batch that changes nothing. */

let rig: Rig
beforeEach(async () => {
  rig = await Rig.open({ policy: POLICY })
})
afterEach(() => rig.close())

/** Far enough away that nothing opens while a test runs. */
function later(): number {
  return Date.now() + 3_600_000
}

function schedule(
  as: Person,
  user_id: string,
  given: Partial<ParamsOf<'signup.schedule'>> = {},
  form: (typeof FORMS)[number] = 'json',
) {
  const params = { ...SESSION, user_id, opens_at: opensAt, ...given }
  return rig.call(as, 'signup.schedule', params, form)
}

let opensAt = 0
beforeEach(() => {
  opensAt = later()
})

async function refusal(act: Promise<unknown>): Promise<FairleadError> {
  const error: unknown = await act.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(FairleadError)
  return error as FairleadError
}

describe('scheduling', () => {
  it.each(FORMS)(
    'SIGNUP-1: answers with the reference, the text, the place so far and what happens next (%s)',
    async (form) => {
      await schedule('bob', 'u1')
      const receipt = await schedule('alice', 'u2', { program_name: 'Swimming' }, form)
      expect(receipt).toMatchObject({ opens_at: opensAt, place: 2, of: 2 })
      expect(receipt.reference).toMatch(/^SCH-[2-9A-HJKMNP-TV-Z]{6}$/)
      expect(receipt.confirmation).toContain('You’re queued for Swimming')
      expect(receipt.confirmation).toContain(receipt.reference)
      expect(receipt.next).toContain('1 before you so far')
      expect(receipt.next).toContain('At the moment nobody serves bookeo')
    },
  )

  it('SIGNUP-2: a session opens at one time, unless an operator says otherwise', async () => {
    await schedule('alice', 'u1')
    const error = await refusal(schedule('alice', 'u2', { opens_at: opensAt - 1 }))
    expect(error).toMatchObject({ code: 'InvalidParams', details: { field: 'opens_at' } })
    expect(error.message).toMatch(/^opens_at: expected \d+ /)
    expect((await schedule('operator', 'u2', { opens_at: opensAt - 1 })).place).toBe(1)
    await rig.call('operator', 'signup.setOpening', {
      ...SESSION,
      event_id: 'dive',
      opens_at: opensAt + 5,
    })
    expect((await refusal(schedule('alice', 'u1', { event_id: 'dive' }))).code).toBe(
      'InvalidParams',
    )
    await schedule('alice', 'u1', { event_id: 'dive', opens_at: opensAt + 5 })
    const { entries } = await rig.call('auditor', 'audit.list', {})
    expect(entries.find(({ action }) => action === 'openingSet')).toMatchObject({
      actor: expect.stringMatching(/^token:/),
      details: { platform: 'bookeo', eventId: 'dive', opensAt: opensAt + 5 },
    })
  })

  it('SIGNUP-2: a time in the past is for a session that is open', async () => {
    const past = Date.now() - 1_000
    expect((await refusal(schedule('alice', 'u1', { opens_at: past }))).code).toBe('InvalidParams')
    await rig.call('operator', 'signup.setOpening', { ...SESSION, opens_at: past })
    const { next } = await schedule('alice', 'u1', { opens_at: past })
    expect(next).toContain('It is open')
  })

  it('SIGNUP-3: a second sign-up of a user is refused with the reference of the first', async () => {
    const { reference } = await schedule('alice', 'u1')
    const error = await refusal(schedule('alice', 'u1'))
    expect(error).toMatchObject({ code: 'IdempotencyConflict', details: { reference } })
    expect(error.message).toContain(reference)
    // Another caller has users of its own.
    expect((await schedule('bob', 'u1')).place).toBe(2)
  })

  it('SIGNUP-3: where callers share users, one whose it is not learns no more than that', async () => {
    await rig.call('admin', 'policy.set', { policy: { signup: { shared_users: true } } })
    const { reference, task_id } = await schedule('alice', 'u1')
    const others = await refusal(schedule('bob', 'u1'))
    expect(others.code).toBe('IdempotencyConflict')
    expect(JSON.stringify(others.details)).not.toContain(reference)
    expect(JSON.stringify(others.details)).not.toContain(task_id)
  })

  it('SIGNUP-3: the same call again with its key gives the first answer', async () => {
    const given = { idempotency_key: 'k-1' }
    const first = await schedule('alice', 'u1', given)
    expect(await schedule('alice', 'u1', given)).toEqual(first)
    const other = await refusal(schedule('alice', 'u2', given))
    expect(other.code).toBe('IdempotencyConflict')
    expect(other.details).not.toHaveProperty('reference')
  })
})

describe('looking', () => {
  it.each(FORMS)(
    'SIGNUP-4: a requester sees its own entries with their places, others only as counts (%s)',
    async (form) => {
      await schedule('bob', 'u1')
      const mine = await schedule('alice', 'u2')
      await schedule('bob', 'u3')
      const seen = await rig.call('alice', 'signup.getSession', SESSION, form)
      expect(seen).toMatchObject({
        session: { ...SESSION, opens_at: opensAt, is_open: false, waiting: 3, in_flight: 0 },
        queue: [{ reference: mine.reference, place: 2, rank: null, state: 'waiting' }],
        others: 2,
        dispatch_key: {
          in_flight: 0,
          in_flight_max: 10,
          rate_per_second: 0.1,
          burst: 10,
          burst_used: 0,
          rate_429: 0,
          clock_offset_ms: null,
        },
      })
      const all = await rig.call('operator', 'signup.getSession', { ...SESSION, limit: 2 }, form)
      expect(all.queue.map(({ place }) => place)).toEqual([1, 2])
      expect(all.others).toBe(0)
      const rest = await rig.call('operator', 'signup.getSession', { ...SESSION, after_place: 2 })
      expect(rest.queue.map(({ place }) => place)).toEqual([3])
    },
  )

  it('SIGNUP-4: a session in which one has nobody does not exist for one', async () => {
    await schedule('bob', 'u1')
    expect(await rig.outcome('alice', 'signup.getSession', SESSION)).toBe('NotFound')
    expect((await rig.call('alice', 'signup.listSessions', {})).sessions).toEqual([])
    expect((await rig.call('bob', 'signup.listSessions', {})).sessions).toHaveLength(1)
    expect(await rig.outcome('atlas', 'signup.getSession', SESSION)).toBe('Forbidden')
  })

  it.each(FORMS)(
    'SIGNUP-5: registrations are listed in order, own ones only (%s)',
    async (form) => {
      const scheduled = []
      for (const user of ['u1', 'u2', 'u3']) scheduled.push(await schedule('alice', user))
      await schedule('bob', 'u4')
      await schedule('alice', 'u1', { event_id: 'dive' })
      const page = await rig.call('alice', 'signup.list', { event_id: 'swim', limit: 2 }, form)
      expect(page.registrations).toMatchObject([
        { reference: scheduled[0]?.reference, user_id: 'u1', result: 'pending', rank: null },
        { reference: scheduled[1]?.reference, user_id: 'u2', message: { name: 'queued' } },
      ])
      const rest = await rig.call(
        'alice',
        'signup.list',
        { event_id: 'swim', limit: 2, cursor: page.cursor as string },
        form,
      )
      expect(rest.registrations.map(({ user_id }) => user_id)).toEqual(['u3'])
      expect(rest.cursor).toBe(null)
      // Who did not schedule it is not told whom it is for.
      const all = await rig.call('auditor', 'signup.list', {}, form)
      expect(all.registrations).toHaveLength(5)
      expect(all.registrations.every(({ user_id }) => user_id === null)).toBe(true)
    },
  )

  it.each(FORMS)('SIGNUP-5: nor is it in the job that others may look at (%s)', async (form) => {
    const { task_id } = await schedule('alice', 'u-alice', { args: { child: 'Kim' } })
    const own = await rig.call('alice', 'aicf.getJob', { task_id }, form)
    expect(own.job.request.payload).toMatchObject({ user_id: 'u-alice', args: { child: 'Kim' } })
    for (const other of ['operator', 'auditor'] as const) {
      const { job } = await rig.call(other, 'aicf.getJob', { task_id }, form)
      expect(job.request.payload).toMatchObject({ ...SESSION, args: {} })
      expect(JSON.stringify(job.request.payload)).not.toMatch(/u-alice|Kim/)
    }
  })

  it('SIGNUP-6: a reference is read as it is said, and belongs to whoever scheduled it', async () => {
    const { reference, task_id } = await schedule('alice', 'u1')
    for (const id of [reference, reference.toLowerCase(), reference.slice(4), task_id]) {
      const { registration } = await rig.call('alice', 'signup.audit', { id })
      expect(registration.task_id).toBe(task_id)
    }
    expect(await rig.outcome('bob', 'signup.audit', { id: reference })).toBe('NotFound')
    expect(await rig.outcome('alice', 'signup.audit', { id: 'SCH-000000' })).toBe('InvalidParams')
    expect(await rig.outcome('alice', 'signup.audit', { id: 'SCH-222222' })).toBe('NotFound')
  })

  it('SIGNUP-6: cancelling takes somebody out of the line', async () => {
    const { reference, task_id } = await schedule('alice', 'u1')
    expect(await rig.outcome('bob', 'signup.cancel', { id: reference })).toBe('NotFound')
    const cancelled = await rig.call('alice', 'signup.cancel', { id: reference })
    expect(cancelled).toEqual({ reference, task_id, status: 'CANCELED', is_noted: false })
    expect(await rig.outcome('alice', 'signup.cancel', { id: reference })).toBe('InvalidState')
    const { registration } = await rig.call('alice', 'signup.audit', { id: reference })
    expect(registration).toMatchObject({ result: 'canceled', message: { name: 'canceled' } })
    // The place is free again.
    expect((await schedule('alice', 'u1')).reference).not.toBe(reference)
  })
})

describe('an opening', () => {
  let bench: Bench
  beforeEach(async () => {
    bench = await Bench.open(rig, { platforms: ['bookeo'], slots: 10 })
  })

  /** Opens the session with these people in it, and gives their acked leases in that order. */
  async function open(users: readonly string[]) {
    const past = Date.now() - 1
    await rig.call('operator', 'signup.setOpening', { ...SESSION, opens_at: past })
    const leases = []
    for (const user of users) {
      const { reference, task_id } = await schedule('alice', user, { opens_at: past })
      const { lease_id } = await bench.offered(task_id)
      await bench.call('aicf.ackLease', lease_id)
      leases.push({ reference, lease_id })
    }
    return leases
  }

  function end(
    lease: { readonly lease_id: string } | undefined,
    how: Record<string, unknown>,
  ): Promise<unknown> {
    const method = 'output' in how ? 'aicf.completeLease' : 'aicf.failLease'
    return bench.call(method, lease?.lease_id as string, how)
  }

  const BOOKED = toHex(encodeCbor({ outcome: 'booked', booking_number: 'B-7', fee_status: 'none' }))
  const WAITLISTED = toHex(encodeCbor({ outcome: 'waitlisted', fee_status: 'none' }))

  it('SIGNUP-7: afterwards everybody can read what became of it, in words', async () => {
    const [first, second, third, fourth, fifth] = await open(['u1', 'u2', 'u3', 'u4', 'u5'])
    await end(first, { output: BOOKED, meta: { clock_offset_ms: -120 } })
    await end(second, { output: WAITLISTED })
    await end(third, { code: 'sold_out', http: 409 })
    await end(fourth, { code: 'rate_limited', http: 429 })
    // Nobody answered that: it is no part of the shares below.
    await end(fifth, { code: 'network', is_unsent: true })
    const { registrations } = await rig.call('alice', 'signup.list', {})
    expect(registrations).toMatchObject([
      {
        rank: 0,
        result: 'booked',
        booking_number: 'B-7',
        attempts: 1,
        message: { name: 'success' },
      },
      { rank: 1, result: 'waitlisted', message: { name: 'waitlisted' } },
      { rank: 2, result: 'failed', reason: 'sold_out', message: { name: 'full' } },
      {
        ...{ rank: 3, result: 'failed', reason: 'retry_window_exhausted' },
        message: { name: 'failed' },
      },
      { rank: 4, result: 'failed', message: { name: 'failed' } },
    ])
    const look = await rig.call('alice', 'signup.getSession', SESSION)
    const { session, dispatch_key: key } = look
    expect(look.order).toContain('in the order they were scheduled with Fairlead')
    expect(session).toMatchObject({ is_open: true, waiting: 0, completed: 2, failed: 3 })
    expect(key).toMatchObject({ answers: 4, rate_429: 0.25, rate_5xx: 0, in_flight_max: 5 })
    expect(key.clock_offset_ms).toBe(-120)
    expect(key.burst_used).toBeGreaterThan(0)
  })

  it('MESSAGE-3: an attempt counts from its first call, as its worker measured it', async () => {
    const [first, second, third] = await open(['u1', 'u2', 'u3'])
    await end(first, { output: BOOKED, meta: { sent_after_ms: 0 } })
    // Nobody can have sent anything later than it was told of.
    await end(second, { output: BOOKED, meta: { sent_after_ms: 1e15 } })
    await end(third, { code: 'sold_out', http: 409, sent_after_ms: 1e15 })
    const { registrations } = await rig.call('alice', 'signup.list', {})
    const [atAck, ...atEnd] = registrations.map((one) => one.first_attempt_at)
    expect(atEnd).toEqual(registrations.slice(1).map((one) => one.ended_at))
    const id = first?.reference as string
    const { timeline, registration } = await rig.call('alice', 'signup.audit', { id })
    expect(atAck).toBe(timeline.find(({ action }) => action === 'jobStarted')?.at)
    expect(registration.first_attempt_delay_ms).toBe((atAck ?? 0) - registration.queued_at)
  })

  it('MESSAGE-3: an attempt that was cut off counts from its ack, and one without a call is none', async () => {
    const [first, second] = await open(['u1', 'u2'])
    await end(first, { code: 'network', is_unsent: true })
    await end(second, { code: 'http_503', http: 503 })
    const { registrations } = await rig.call('alice', 'signup.list', {})
    expect(registrations[0]).toMatchObject({ attempts: 0, first_attempt_at: null })
    expect(registrations[0]?.message.text).toContain('no request')
    const id = second?.reference as string
    const { timeline, registration } = await rig.call('alice', 'signup.audit', { id })
    const acked = timeline.find(({ action }) => action === 'jobStarted')
    const leased = timeline.find(({ action }) => action === 'jobAssigned')
    expect(registration).toMatchObject({ attempts: 1, first_attempt_at: acked?.at })
    expect(acked?.at).toBeGreaterThanOrEqual(leased?.at as number)
  })

  it.each(FORMS)('SIGNUP-5: a booking number is for the one who booked (%s)', async (form) => {
    const [first] = await open(['u1'])
    await end(first, { output: BOOKED })
    const own = await rig.call('alice', 'signup.list', {}, form)
    const task_id = own.registrations[0]?.task_id ?? ''
    const seen = await rig.call('auditor', 'signup.list', {}, form)
    expect([own, seen].map((list) => list.registrations[0]?.booking_number)).toEqual(['B-7', null])
    const outputs = await Promise.all(
      (['alice', 'auditor'] as const).map((who) =>
        rig.call(who, 'aicf.getResult', { task_id }).then(({ output }) => output),
      ),
    )
    const left = toHex(encodeCbor({ outcome: 'booked', fee_status: 'none' }))
    expect(outputs).toEqual([BOOKED, left])
  })

  it('RECEIPT-3: a booking number that a worker of somebody else took over from a site is a marker', async () => {
    const numbers = ['B'.repeat(10_240), '\u001b[2JB-7', 'B\u202e7', 'B-7']
    const said = await open(numbers.map((_, i) => `u${i}`))
    for (const [i, booking_number] of numbers.entries()) {
      const output = encodeCbor({ outcome: 'booked', booking_number, fee_status: 'none' })
      await end(said[i], { output: toHex(output) })
    }
    const { registrations } = await rig.call('alice', 'signup.list', {})
    const told = registrations.map((one) => [one.result, one.booking_number])
    const unreadable = ['booked', '[unreadable]']
    expect(told).toEqual([unreadable, unreadable, unreadable, ['booked', 'B-7']])
    const id = said[0]?.reference as string
    const { registration } = await rig.call('alice', 'signup.audit', { id })
    expect(registration.booking_number).toBe('[unreadable]')
  })

  it("FAIL-5: a site's own code leaves no trace: not in rows, entries, events, metrics or texts", async () => {
    const canary = 'kimberley'
    const [first] = await open(['u1'])
    await end(first, { code: canary, http: 422, message: canary, details: { who: canary } })
    const id = first?.reference as string
    const { registration } = await rig.call('alice', 'signup.audit', { id })
    expect(registration).toMatchObject({ result: 'failed', reason: 'other', attempts: 1 })
    const { task_id } = registration
    const told = await Promise.all([
      rig.call('alice', 'signup.audit', { id }),
      rig.call('alice', 'signup.list', {}),
      rig.call('alice', 'aicf.getJob', { task_id }),
      rig.call('alice', 'aicf.getTimeline', { task_id }),
      rig.call('alice', 'aicf.explainJob', { task_id }),
      rig.call('auditor', 'audit.list', {}),
      rig.get('/metrics', 'admin').then((answer) => answer.text()),
    ])
    const events = await rig.engine.view.read.journal(0, 1_000)
    await rig.engine.checkpoint()
    const rows = [...(await rig.store.read.everything())]
    for (const one of [...told, events, rows]) {
      expect(inspect(one, { depth: 20 })).not.toMatch(/kimberley/i)
    }
    expect(told.at(-1)).toContain('fairlead_jobs_failed_total{reason="other"} 1')
  })

  it('FEE-2: a fee that was not taken is an entry, an event and a metric', async () => {
    const [first, second] = await open(['u1', 'u2'])
    const unpaid = { outcome: 'booked', booking_number: 'B-8', fee_status: 'failed' }
    await end(first, { output: toHex(encodeCbor(unpaid)) })
    await end(second, { output: BOOKED })
    const id = first?.reference as string
    const { timeline, registration } = await rig.call('alice', 'signup.audit', { id })
    expect(registration).toMatchObject({ result: 'booked', fee_status: 'failed' })
    expect(timeline.at(-1)).toMatchObject({ action: 'feeFailed', details: {} })
    const { entries } = await rig.call('auditor', 'audit.list', {})
    const failed = entries.filter(({ action }) => action === 'feeFailed')
    expect(failed).toMatchObject([{ subject: registration.task_id }])
    const metrics = await (await rig.get('/metrics', 'admin')).text()
    expect(metrics).toContain('fairlead_signup_fees_failed_total{platform="bookeo"} 1')
  })

  it('SIGNUP-6: one with an unknown outcome keeps its place until it is cancelled', async () => {
    const [first] = await open(['u1'])
    const past = (await rig.call('alice', 'signup.list', {})).registrations[0]?.opens_at ?? 0
    await end(first, { code: 'timeout', is_unknown: true })
    const again = () => schedule('alice', 'u1', { opens_at: past })
    const reference = first?.reference as string
    const error = await refusal(again())
    expect(error).toMatchObject({ code: 'IdempotencyConflict', details: { reference } })
    expect(error.message).toContain('nobody knows whether that booked')
    expect((await refusal(rig.call('bob', 'signup.cancel', { id: reference }))).code).toBe(
      'NotFound',
    )
    const { status, is_noted } = await rig.call('alice', 'signup.cancel', { id: reference })
    expect([status, is_noted]).toEqual(['FAILED', false])
    expect((await refusal(rig.call('alice', 'signup.cancel', { id: reference }))).code).toBe(
      'InvalidState',
    )
    expect((await again()).reference).not.toBe(reference)
  })

  it('SIGNUP-2: a session that is moved is told of with its new time', async () => {
    const { reference } = await schedule('alice', 'u9', { event_id: 'dive' })
    const moved = { ...SESSION, event_id: 'dive', opens_at: opensAt + 60_000 }
    await rig.call('operator', 'signup.setOpening', moved)
    const told = async () =>
      (await rig.call('alice', 'signup.audit', { id: reference })).registration
    expect(await told()).toMatchObject({ opens_at: opensAt + 60_000, result: 'pending' })
    expect((await told()).message.text).toContain(dateText(opensAt + 60_000, 'UTC'))
    await rig.call('alice', 'signup.cancel', { id: reference })
    expect(await told()).toMatchObject({ opens_at: opensAt + 60_000, result: 'canceled' })
  })

  it('SIGNUP-7: when it was erased whose it is, all else can still be read', async () => {
    const [first] = await open(['u1'])
    await end(first, { output: BOOKED })
    const before = await rig.call('alice', 'signup.list', {})
    expect(before.registrations).toMatchObject([{ user_id: 'u1' }])
    const rows = { ...NO_ROWS, eraseEnded: { from: 0, before: Date.now() + 1 } }
    await rig.store.tables.apply(rows, await rig.engine.checkpoint())
    const { registrations } = await rig.call('alice', 'signup.list', {})
    expect(registrations).toEqual([
      { ...before.registrations[0], user_id: null, booking_number: null },
    ])
    const id = registrations[0]?.reference as string
    const { timeline } = await rig.call('alice', 'signup.audit', { id })
    expect(timeline.at(-1)).toMatchObject({ action: 'jobCompleted' })
    for (const person of ['alice', 'operator'] as const) {
      const task_id = registrations[0]?.task_id as string
      const { job } = await rig.call(person, 'aicf.getJob', { task_id })
      expect(job.request.payload).toEqual({ ...SESSION, scheduled_time: expect.any(Number) })
    }
  })

  it('SIGNUP-6: a cancel that has to wait for an outcome says so, by either call', async () => {
    const [first, second] = await open(['u1', 'u2'])
    const { registrations } = await rig.call('alice', 'signup.list', {})
    const task_id = registrations[1]?.task_id as string
    expect(
      await rig.call('alice', 'signup.cancel', { id: first?.reference as string }),
    ).toMatchObject({ status: 'RUNNING', is_noted: true })
    expect(await rig.call('alice', 'aicf.cancelJob', { task_id })).toEqual({
      task_id,
      status: 'RUNNING',
    })
    await end(first, { output: BOOKED })
    await end(second, { code: 'busy', http: 503 })
    const after = await rig.call('alice', 'signup.list', {})
    expect(after.registrations.map(({ result }) => result)).toEqual(['booked', 'canceled'])
  })

  it('SIGNUP-8: the timeline tells each step and nothing personal', async () => {
    const [one] = await open(['parent@example.org'])
    await end(one, { code: 'sold_out', http: 409 })
    const { timeline } = await rig.call('auditor', 'signup.audit', { id: one?.reference as string })
    expect(timeline.map(({ action }) => action)).toEqual([
      'jobEnqueued',
      'jobAssigned',
      'jobStarted',
      'leaseCancelled',
      'jobFailed',
    ])
    expect(timeline[1]?.details).toMatchObject({ rank: 0, task: 'book' })
    const log = await rig.call('auditor', 'audit.list', {})
    const metrics = await (await rig.get('/metrics', 'admin')).text()
    const error = await refusal(schedule('alice', 'parent@example.org', { opens_at: 1 }))
    for (const told of [timeline, log, metrics, error.message, error.details]) {
      expect(JSON.stringify(told)).not.toContain('parent@example.org')
    }
  })

  it('METRICS-2: a label has at most 100 platforms, and all others are other', async () => {
    const platforms = Array.from({ length: 105 }, (_, i) => `site-${i}`)
    await Bench.open(rig, { as: 'borea', platforms })
    for (const provider of platforms) await schedule('alice', 'u1', { provider })
    const families = parsePrometheus(await (await rig.get('/metrics', 'admin')).text())
    const queued = families.find(({ name }) => name === 'fairlead_signup_queued')?.metrics ?? []
    expect(queued).toHaveLength(101)
    expect(queued).toContainEqual({ labels: { platform: 'other' }, value: '5' })
  })

  it('METRICS-2: registrations are counted by platform', async () => {
    const [first, second, , fourth] = await open(['u1', 'u2', 'u3', 'u4'])
    await schedule('alice', 'u4', { provider: 'nobody-serves-it' })
    await end(fourth, { code: 'slow_down', http: 429, sent_after_ms: 1 })
    await end(first, { output: BOOKED })
    await end(second, { code: 'sold_out', http: 503 })
    // Once that is answered, what came before has been counted.
    await rig.call('alice', 'signup.list', {})
    const text = await (await rig.get('/metrics', 'admin')).text()
    const families = parsePrometheus(text)
    const values = (name: string) =>
      families
        .find((family) => family.name === name)
        ?.metrics.map(({ labels, value }) => [labels, value] as const)
    expect(values('fairlead_signup_queued')).toContainEqual([{ platform: 'other' }, '1'])
    expect(values('fairlead_signup_in_flight')).toContainEqual([{ platform: 'bookeo' }, '1'])
    expect(values('fairlead_signup_attempts_total')).toEqual([[{ platform: 'bookeo' }, '4']])
    expect(values('fairlead_signup_outcomes_total')).toContainEqual([
      { platform: 'bookeo', result: 'booked', rank: '1-10' },
      '1',
    ])
    expect(values('fairlead_signup_refusals_total')).toContainEqual([
      { platform: 'bookeo', code: 'sold_out' },
      '1',
    ])
    expect(values('fairlead_signup_refusals_total')).toContainEqual([
      { platform: 'bookeo', code: 'rate_limited' },
      '1',
    ])
    expect(values('fairlead_signup_http_errors_total')).toContainEqual([
      { platform: 'bookeo', status: '5xx' },
      '1',
    ])
    const delays = families.find(
      ({ name }) => name === 'fairlead_signup_first_attempt_delay_seconds',
    )
    // One is under way: when its call went out is not known yet.
    expect(delays?.metrics).toMatchObject([{ buckets: { '+Inf': '3' } }])
    for (const [result, count] of [
      ['success', 1],
      ['failure', 2],
    ]) {
      const labels = `platform="bookeo",result="${result}"`
      expect(text).toContain(`fairlead_signup_outcome_delay_seconds_count{${labels}} ${count}`)
    }
  })
})
