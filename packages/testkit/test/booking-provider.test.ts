import { afterEach, describe, expect, it } from 'vitest'
import {
  type BookingProvider,
  type BookingRules,
  startBookingProvider,
} from '../src/booking-provider/index.ts'

let site: BookingProvider | undefined
afterEach(async () => {
  await site?.stop()
})

async function open(rules: Partial<BookingRules> = {}) {
  site = await startBookingProvider(rules)
  const base = `${site.url}/orgs/o1/events/e1`
  const call = async (method: string, path: string, body?: object, headers: object = {}) => {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, headers: response.headers, json: await response.json() }
  }
  return {
    site,
    call,
    book: (user: string, more: object = {}) => call('POST', '/bookings', { user, ...more }),
  }
}

describe('the fake booking site', () => {
  it('gives its seats, then places on the waitlist, then nothing', async () => {
    const { book, site } = await open({ seats: 1, waitlist: 1 })
    expect((await book('a')).json).toMatchObject({ booking: { status: 'confirmed' } })
    expect((await book('b')).json).toMatchObject({ booking: { status: 'waitlisted' } })
    expect(await book('c')).toMatchObject({ status: 409, json: { error: { code: 'sold_out' } } })
    const { arrivals, bookings } = await site.seen()
    expect(arrivals.map(({ user, result }) => `${user} ${result}`)).toEqual([
      'a 201',
      'b 202',
      'c 409',
    ])
    expect(bookings.map(({ user }) => user)).toEqual(['a', 'b'])
  })

  it('books a user twice, unless it heeds keys and the key is the same', async () => {
    const { book, site } = await open()
    await book('a', { idempotency_key: 'k' })
    await book('a', { idempotency_key: 'k' })
    expect((await site.seen()).bookings).toHaveLength(2)
    await site.stop()

    const keyed = await open({ idempotency: true })
    const first = await keyed.book('a', { idempotency_key: 'k' })
    expect(await keyed.book('a', { idempotency_key: 'k' })).toMatchObject({ json: first.json })
    await keyed.call('POST', '/bookings', { user: 'a' }, { 'idempotency-key': 'k' })
    await keyed.call('POST', '/bookings?idempotency_key=k', { user: 'a' })
    expect((await keyed.site.seen()).bookings).toHaveLength(1)
  })

  it('is closed before its opening, on its own clock', async () => {
    const soon = Date.now() + 3_600_000
    const { book } = await open({ opensAt: soon })
    expect(await book('a')).toMatchObject({ json: { error: { code: 'not_yet_open' } } })
    await site?.stop()

    const ahead = await open({ opensAt: soon, clockSkewMs: 7_200_000 })
    const { status, headers } = await ahead.book('a')
    expect(status).toBe(201)
    expect(Date.parse(headers.get('date') ?? '')).toBeGreaterThan(soon)
  })

  it('limits each organisation by itself', async () => {
    const { book, call } = await open({
      rateLimit: { perSecond: 0.001, burst: 1, retryAfterSecs: 3 },
    })
    expect((await book('a')).status).toBe(201)
    const { status, headers } = await book('b')
    expect([status, headers.get('retry-after')]).toEqual([429, '3'])
    expect((await call('POST', '/../../../o2/events/e1/bookings', { user: 'b' })).status).toBe(201)
  })

  it('loses answers to what it booked; the same users with the same seed', async () => {
    const outcomes = async () => {
      const { site, book } = await open({ cutPermille: 300, errorPermille: 300, seed: '7' })
      const users = Array.from({ length: 20 }, (_, i) => `u${i}`)
      await Promise.allSettled(users.map((user) => book(user)))
      const { arrivals, bookings } = await site.seen()
      await site.stop()
      const cut = arrivals.filter(({ result }) => result === 'cut').map(({ user }) => user)
      expect(bookings.map(({ user }) => user)).toEqual(expect.arrayContaining(cut))
      return arrivals.map(({ user, result }) => `${user} ${result}`).sort()
    }
    const first = await outcomes()
    expect(await outcomes()).toEqual(first)
    expect(new Set(first.map((line) => line.split(' ')[1]))).toContain('cut')
  })

  it('holds, commits and gives back', async () => {
    const { call } = await open({ seats: 1 })
    const { json } = await call('POST', '/holds', { user: 'a' })
    const { id } = (json as { hold: { id: string } }).hold
    expect((await call('POST', '/holds', { user: 'b' })).status).toBe(409)
    expect((await call('DELETE', `/holds/${id}`)).status).toBe(200)
    const again = (await call('POST', '/holds', { user: 'b' })).json as { hold: { id: string } }
    expect((await call('POST', `/holds/${again.hold.id}/commit`, { user: 'b' })).status).toBe(201)
    expect((await call('GET', '/bookings?user=b')).json).toMatchObject({
      bookings: [{ status: 'confirmed' }],
    })
  })
})
