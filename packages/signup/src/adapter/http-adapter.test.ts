import { describe, expect, it } from 'vitest'
import { readProviders } from '../providers/providers.ts'
import type { Adapter, HttpAnswer, SignupJob } from './adapter.ts'
import { Unfillable } from './template.ts'

const JOB: SignupJob = {
  jobId: `0x${'ab'.repeat(32)}` as SignupJob['jobId'],
  platform: 'a',
  orgRef: 'org 1',
  eventId: 'evt/7',
  userId: 'user-8',
  args: { child: { name: 'Ann', age: 7 }, seats: 2 },
  scheduledTime: 1_760_000_400_000,
  idempotencyKey: 'k-1',
}

/** The adapter of a row in flow style, and what it needs beside. */
function adapterOf(adapter: object, profile: object = {}): Adapter {
  const row = { adapter: { book: { url: 'https://a.example/b' }, ...adapter }, profile }
  const text = JSON.stringify({ providers: { a: row } })
  const made = readProviders(text, { env: { KEY: 's3cret', OWN: 'own-s3cret' }, folder: '.' }).get(
    'a',
  )
  if (made.adapter === null) throw new Error('there is no adapter')
  return made.adapter
}

const answer = (status: number, json?: unknown): HttpAnswer => ({ status, headers: {}, json })

describe('requests', () => {
  it('ADAPTER-1: places are filled: encoded in a URL, of their own kind in a body', () => {
    const call = adapterOf({
      book: {
        method: 'PUT',
        url: 'https://a.example/{org_ref}/{event_id}?at={scheduled_time}',
        headers: { 'X-User': '{user_id}' },
        body: {
          child: '{args.child}',
          age: '{args.child.age}',
          text: 'age {args.child.age}',
          list: ['{args.seats}', true, null, 3],
          gone: '{args.phone?}',
        },
      },
    }).request(JOB, null)
    expect(call).toMatchObject({
      method: 'PUT',
      url: 'https://a.example/org%201/evt%2F7?at=1760000400000',
      headers: { 'x-user': 'user-8', 'content-type': 'application/json' },
    })
    expect(JSON.parse(call.body ?? '')).toEqual({
      child: { name: 'Ann', age: 7 },
      age: 7,
      text: 'age 7',
      list: [2, true, null, 3],
    })
  })

  it('ADAPTER-1: a place with nothing to fill it is the fault of the job, or of the operator', () => {
    const adapter = adapterOf({ book: { url: 'https://a.example/', body: '{args.phone}' } })
    const code = (make: () => unknown): unknown => {
      try {
        return make()
      } catch (error) {
        expect(error).toBeInstanceOf(Unfillable)
        expect((error as Error).message).not.toContain('Ann')
        return (error as Unfillable).code
      }
    }
    expect(code(() => adapter.request(JOB, null))).toBe('validation_error')
    const keyed = adapterOf({
      book: { url: 'https://a.example/', headers: { authorization: '{credential}' } },
      credentials: { 'org 2': '${env:KEY}' },
    })
    expect(code(() => keyed.request(JOB, null))).toBe('auth_error')
  })

  it.each([
    ['a line break', { userId: 'user\nx-admin: 1' }],
    ['letters that headers do not have', { userId: 'Zoë 山田' }],
    ['a step out of the path', { eventId: '..' }],
    ['a step in place', { eventId: 'x', orgRef: '.' }],
  ])('ADAPTER-1: %s is the fault of the job, and nothing is sent', (_, given) => {
    const url = 'https://a.example/v1/{org_ref}/{event_id}/bookings'
    const adapter = adapterOf({ book: { url, headers: { 'X-User': '{user_id}' } } })
    expect(() => adapter.request({ ...JOB, eventId: 'ok', ...given }, null)).toThrow(Unfillable)
    expect(adapter.request({ ...JOB, eventId: 'v1..2' }, null).url).toContain('/v1..2/')
  })

  it('ADAPTER-1: an organisation has a credential of its own, or that of all', () => {
    const adapter = adapterOf({
      book: { url: 'https://a.example/', headers: { authorization: 'Bearer {credential}' } },
      credentials: { default: '${env:KEY}', 'org 1': '${env:OWN}' },
    })
    const headerFor = (orgRef: string) =>
      adapter.request({ ...JOB, orgRef }, null).headers['authorization']
    expect(headerFor('org 1')).toBe('Bearer own-s3cret')
    expect(headerFor('org 3')).toBe('Bearer s3cret')
  })

  it.each([
    ['header', { headers: { 'idempotency-key': 'k-1' } }],
    ['query', { url: 'https://a.example/b?idempotency_key=k-1' }],
    ['body', { body: '{"idempotency_key":"k-1"}' }],
  ])('ADAPTER-3: the key stands in the %s', (place, expected) => {
    const keys = { idempotency_key_supported: true, idempotency_key_location: place }
    expect(adapterOf({}, keys).request(JOB, null)).toMatchObject(expected)
    const without = { idempotency_key_supported: false, idempotency_key_location: place }
    expect(JSON.stringify(adapterOf({}, without).request(JOB, null))).not.toContain('k-1')
  })

  it('ADAPTER-3: its name may be another', () => {
    const keys = { idempotency_key_supported: true, idempotency_key_location: 'header' }
    const call = adapterOf({ idempotency_key_name: 'X-Once' }, keys).request(JOB, null)
    expect(call.headers['x-once']).toBe('k-1')
  })
})

describe('answers', () => {
  const paths = {
    answer: {
      booking_number: 'booking.number',
      error_code: 'error.code',
      waitlisted: { path: 'booking.status', equals: ['waitlisted'] },
    },
    error_codes: { FULL: 'sold_out' },
  }
  const success_definition = { http: [200, 201], path: 'booking.status', equals: ['confirmed'] }

  it('ADAPTER-4: any 2xx books where nothing is said', () => {
    const adapter = adapterOf(paths)
    const booked = { booking: { number: 17 } }
    expect(adapter.outcome(answer(204))).toEqual({ type: 'booked', bookingNumber: null })
    expect(adapter.outcome(answer(200, booked))).toEqual({ type: 'booked', bookingNumber: '17' })
    expect(adapter.outcome(answer(302))).toEqual({ type: 'refused', http: 302 })
  })

  it.each([
    [201, { booking: { number: 'B1', status: 'confirmed' } }, 'booked'],
    [200, { booking: { number: 'B1', status: 'waitlisted' } }, 'waitlisted'],
    [202, { booking: { number: 'B1', status: 'confirmed' } }, 'unclear'],
    [200, { booking: { number: 'B1', status: 'in review' } }, 'unclear'],
    [200, undefined, 'unclear'],
    [200, { error: { code: 'FULL' } }, 'refused'],
    [409, { booking: { status: 'confirmed' } }, 'refused'],
    [409, { booking: { status: 'waitlisted' } }, 'refused'],
  ])('ADAPTER-4: with a definition of success, %s %j is %s', (status, json, type) => {
    const adapter = adapterOf(paths, { success_definition })
    expect(adapter.outcome(answer(status, json)).type).toBe(type)
  })

  it('ADAPTER-4: codes are told in the words of the taxonomy, and only if they are words', () => {
    const adapter = adapterOf(paths)
    const codeOf = (code: unknown) => adapter.outcome(answer(409, { error: { code } }))
    expect(codeOf('FULL')).toEqual({ type: 'refused', http: 409, code: 'sold_out' })
    expect(codeOf('closed')).toEqual({ type: 'refused', http: 409, code: 'closed' })
    for (const code of ['no seat for Ann', '', null, {}, 'x'.repeat(65), '__proto__ ']) {
      expect(codeOf(code)).toEqual({ type: 'refused', http: 409 })
    }
    expect(codeOf('constructor')).toMatchObject({ code: 'constructor' })
  })

  it('ADAPTER-4: where all there is is a waitlist, success is a place on it', () => {
    const adapter = adapterOf(paths, { booking_model: 'waitlist_only' })
    expect(adapter.outcome(answer(200)).type).toBe('waitlisted')
  })

  it('ADAPTER-2: a platform that repeats a secret does not get it into the books', () => {
    const adapter = adapterOf({
      ...paths,
      book: { url: 'https://a.example/', headers: { authorization: '{credential}' } },
      credentials: { default: '${env:KEY}' },
    })
    const json = { booking: { number: 'N-s3cret' }, error: { code: 's3cret' } }
    const booked = { type: 'booked', bookingNumber: '[unreadable]' }
    expect(adapter.outcome(answer(201, json))).toEqual(booked)
    expect(adapter.outcome(answer(403, json))).toEqual({ type: 'refused', http: 403 })
  })

  it.each([
    [200, { list: [{ no: 'B1' }] }, { type: 'booked', bookingNumber: 'B1' }],
    // Nobody is booked twice because a number cannot be shown.
    [200, { list: [{ no: 'B\n1' }] }, { type: 'booked', bookingNumber: '[unreadable]' }],
    [200, { list: [{ no: 'B'.repeat(129) }] }, { type: 'booked', bookingNumber: '[unreadable]' }],
    [200, { list: [] }, { type: 'not_booked' }],
    [200, { list: [{ no: 'W1', waiting: true }] }, { type: 'waitlisted', bookingNumber: 'W1' }],
    [404, undefined, { type: 'not_booked' }],
    [200, undefined, { type: 'failed' }],
    [500, { list: [{ no: 'B1' }] }, { type: 'failed' }],
    [401, {}, { type: 'failed' }],
  ])('ADAPTER-5: the answer %s %j to a lookup', (status, json, expected) => {
    const adapter = adapterOf({
      lookup: { url: 'https://a.example/l?u={user_id}' },
      lookup_answer: {
        booking_number: 'list.0.no',
        waitlisted: { path: 'list.0.waiting', equals: [true] },
      },
    })
    expect(adapter.lookup?.request(JOB)).toMatchObject({ method: 'GET', body: null })
    expect(adapter.lookup?.outcome(answer(status, json))).toEqual(expected)
  })

  it('ADAPTER-5: a condition may tell a booking without a number', () => {
    const adapter = adapterOf({
      lookup: { url: 'https://a.example/l' },
      lookup_answer: { found: { path: 'count', equals: [1] } },
    })
    expect(adapter.lookup?.outcome(answer(200, { count: 1 })).type).toBe('booked')
    expect(adapter.lookup?.outcome(answer(200, { count: 0 })).type).toBe('not_booked')
  })
})
