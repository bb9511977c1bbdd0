import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { inspect } from 'node:util'
import { decodeCbor } from '@fairlead/core'
import { TestClock } from '@fairlead/testkit'
import type { BookingProvider, BookingRules } from '@fairlead/testkit/booking-provider'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  type Adapter,
  type SignupEvent,
  type SignupWorkerOptions,
  signupWorker,
} from '../src/index.ts'
import { decodeOutput } from '../src/records/index.ts'
import {
  HandSource,
  jobId,
  providersOf,
  type Report,
  SITE_KEY,
  siteHolds,
  siteLookup,
  siteRow,
  startBookingProvider,
} from './rig.ts'

const KEYS = { idempotency_key_supported: true, idempotency_key_location: 'header' }
const UNSENT = { permanent: false, isUnsent: true }
const HOLDS = { booking_model: 'hold_then_commit', supports_hold: true, hold_ttl_ms: 60_000 }

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

interface Scene {
  readonly site: BookingProvider
  readonly source: HandSource
  readonly events: SignupEvent[]
  readonly errors: unknown[]
  readonly worker: ReturnType<typeof signupWorker>
}

/** A fake site in a process of its own, and a worker that knows how to speak to it. */
async function scene(
  rules: Partial<BookingRules>,
  row: (url: string) => object = siteRow,
  more: Partial<SignupWorkerOptions> = {},
): Promise<Scene> {
  const site = await startBookingProvider({ token: SITE_KEY, ...rules })
  closing.push(() => site.stop())
  return { site, ...(await workerFor({ site: row(site.url) }, more)) }
}

async function workerFor(
  rows: Readonly<Record<string, object>>,
  more: Partial<SignupWorkerOptions> = {},
): Promise<Omit<Scene, 'site'>> {
  const source = new HandSource()
  const events: SignupEvent[] = []
  const errors: unknown[] = []
  const opened = source.nextOpen()
  const worker = signupWorker({
    source,
    providerId: 'provider:signup',
    providers: providersOf(rows),
    onEvent: (event) => events.push(event),
    onError: (error) => errors.push(error),
    ...more,
  })
  closing.push(() => worker.stop({ graceMs: 0 }))
  await opened
  return { source, events, errors, worker }
}

const outputOf = (report: Report) =>
  report.type === 'complete' ? decodeOutput(report.result.output ?? new Uint8Array()) : report

/** What was reported, but for the time that was measured. */
const failureOf = (report: Report) => {
  if (report.type !== 'fail') return report
  const { sentAfterMs: _, ...failure } = report.failure
  return failure
}

const arrivals = async (site: BookingProvider) =>
  (await site.seen()).arrivals.map(({ call, result }) => `${call} ${result}`)

describe('an attempt', () => {
  it('EXECUTE-1: is made after its ack was answered, and completes with the booking number', async () => {
    const { source, site, events } = await scene({})
    let open = (): void => {}
    source.ackGate = new Promise((resolve) => {
      open = resolve
    })
    const report = source.lease()
    await new Promise((done) => setImmediate(done))
    expect(source.calls).toEqual(['ack'])
    expect((await site.seen()).arrivals).toEqual([])
    open()
    expect(outputOf(await report)).toEqual({
      outcome: 'booked',
      bookingNumber: 'B-1000',
      feeStatus: 'none',
      isLookedUp: false,
    })
    expect(source.hellos[0]?.offer).toEqual({
      kinds: ['registration'],
      models: ['*'],
      platforms: ['site'],
    })
    expect(events).toMatchObject([{ type: 'attemptEnded', result: 'booked', rank: 3 }])
  })

  it('a platform that nobody configured is declined', async () => {
    const { source } = await scene({})
    expect(await source.lease({ provider: 'elsewhere' })).toEqual({ type: 'decline' })
  })

  it('EXECUTE-2: is not sent when it took too long since the lease was asked for', async () => {
    const clock = new TestClock(1_760_000_000_000)
    const { source, site } = await scene({}, siteRow, { clock })
    let open = (): void => {}
    source.ackGate = new Promise((resolve) => {
      open = resolve
    })
    const report = source.lease()
    await clock.advance(1_501)
    open()
    expect(failureOf(await report)).toEqual({ code: 'not_sent', ...UNSENT })
    expect((await site.seen()).arrivals).toEqual([])

    source.ackGate = Promise.resolve()
    expect((await source.lease()).type).toBe('complete')
  })

  it('EXECUTE-2: without a connection nothing was sent, and that is known', async () => {
    const probe = createTcpServer().listen(0, '127.0.0.1')
    await new Promise((done) => probe.once('listening', done))
    const { port } = probe.address() as AddressInfo
    await new Promise((done) => probe.close(done))
    const { source } = await workerFor({ site: siteRow(`http://127.0.0.1:${port}`) })
    expect(failureOf(await source.lease())).toEqual({ code: 'network', ...UNSENT })
  })

  it('EXECUTE-2: a redirect is an answer, and is not followed', async () => {
    const other = await plainServer((_, response) => response.writeHead(201).end())
    const site = await plainServer((_, response) =>
      response.writeHead(307, { location: other.url }).end(),
    )
    const { source } = await workerFor({ site: siteRow(site.url) })
    expect(failureOf(await source.lease())).toMatchObject({ code: 'http_307', http: 307 })
    expect(other.requests).toBe(0)
  })

  it.each([
    [{ seats: 0 }, { code: 'sold_out', http: 409, permanent: true }],
    [{ opensAt: 8e15 }, { code: 'not_yet_open', http: 409, permanent: false }],
    [{ token: 'another' }, { code: 'auth_error', http: 401, permanent: true }],
    [{ errorPermille: 1_000 }, { http: expect.any(Number), permanent: false }],
  ])('ADAPTER-4: a refusal is reported with code and status: %j', async (rules, expected) => {
    const { source } = await scene(rules)
    expect(failureOf(await source.lease())).toMatchObject(expected)
  })

  it('ADAPTER-4: a place on the waitlist is a success of its own', async () => {
    const { source } = await scene({ seats: 0, waitlist: 1 }, siteRow, {
      charge: async () => {
        throw new Error('nothing is charged for it')
      },
    })
    expect(outputOf(await source.lease())).toMatchObject({
      outcome: 'waitlisted',
      feeStatus: 'none',
    })
    expect(failureOf(await source.lease())).toMatchObject({ code: 'sold_out' })
  })

  it('ADAPTER-1: what the job lacks is told before anything is sent', async () => {
    const { source, site } = await scene({}, (url) =>
      siteRow(url, { adapter: { book: { url: `${url}/orgs/{args.school}` } } }),
    )
    expect(failureOf(await source.lease())).toEqual({
      ...{ code: 'validation_error', permanent: true, isUnsent: true },
    })
    expect((await site.seen()).arrivals).toEqual([])
  })
})

describe('Retry-After', () => {
  const rateLimit = { perSecond: 0.001, burst: 1, retryAfterSecs: 7 }

  it('EXECUTE-5: in seconds', async () => {
    const { source } = await scene({ rateLimit })
    await source.lease()
    const failure = { code: 'other', http: 429, retryAfterMs: 7_000, permanent: false }
    expect(failureOf(await source.lease())).toEqual(failure)
  })

  it('EXECUTE-5: as a date on the clock of the platform, however wrong that is', async () => {
    const clockSkewMs = -3_600_000
    const { source, worker } = await scene({
      clockSkewMs,
      rateLimit: { ...rateLimit, asDate: true },
    })
    await source.lease()
    expect(failureOf(await source.lease())).toMatchObject({ http: 429, retryAfterMs: 7_000 })
    // The offset is seen from the same answers.
    const { offsetMs, uncertaintyMs, samples } = worker.clockOffsets()['site'] ?? {}
    expect(samples).toBe(2)
    expect(Math.abs((offsetMs ?? 0) - clockSkewMs)).toBeLessThanOrEqual((uncertaintyMs ?? 0) + 1)
  })
})

describe('answers that were lost', () => {
  const quick = { timeout_ms: 250 }

  it.each([
    ['hangPermille', 'timeout'],
    ['cutPermille', 'network'],
  ])('EXECUTE-3: %s, without key and lookup: reported as unknown', async (fate, code) => {
    const { source, site } = await scene({ [fate]: 1_000 }, (url) =>
      siteRow(url, { adapter: quick }),
    )
    expect(failureOf(await source.lease())).toEqual({ code, permanent: false, isUnknown: true })
    expect((await site.seen()).bookings).toHaveLength(1)
  })

  it('EXECUTE-3: with a lookup the platform is asked at once, and a booking completes the job', async () => {
    const { source, site } = await scene({ cutPermille: 1_000 }, (url) =>
      siteRow(url, { adapter: siteLookup(url) }),
    )
    expect(outputOf(await source.lease())).toMatchObject({
      outcome: 'booked',
      bookingNumber: 'B-1000',
      isLookedUp: true,
    })
    expect(await arrivals(site)).toEqual(['book cut', 'lookup 200'])
  })

  it('EXECUTE-3: with keys it is not looked up: the next attempt has the same key', async () => {
    const { source, site } = await scene(
      { cutPermille: 500, idempotency: true, seed: '1' },
      (url) => siteRow(url, { profile: KEYS, adapter: siteLookup(url) }),
    )
    // Until an answer comes back: each attempt finds the booking of the first.
    let report = await source.lease()
    for (let i = 0; report.type === 'fail' && i < 50; i++) {
      expect(failureOf(report)).toEqual({ code: 'network', permanent: false, isUnknown: true })
      report = await source.lease()
    }
    expect(outputOf(report)).toMatchObject({ outcome: 'booked', bookingNumber: 'B-1000' })
    const { bookings, arrivals: seen } = await site.seen()
    expect(bookings).toHaveLength(1)
    expect(new Set(seen.map(({ key }) => key)).size).toBe(1)
  })

  it('EXECUTE-3: "not booked" is believed when it is said again after the time to settle', async () => {
    const clock = new TestClock(1_760_000_000_000)
    const site = await plainServer((request, response) => {
      if (request.method === 'POST') request.socket.destroy()
      else response.writeHead(404).end()
    })
    const row = siteRow(site.url, { adapter: { ...siteLookup(site.url), lookup_settle_ms: 900 } })
    const { source } = await workerFor({ site: row }, { clock })
    const report = source.lease()
    let isReported = false
    void report.then(() => {
      isReported = true
    })
    await site.until(2)
    await clock.advance(899)
    expect([site.requests, isReported]).toEqual([2, false])
    await clock.advance(1)
    expect(failureOf(await report)).toMatchObject({ isUnknown: true, lookup: 'not_booked' })
    expect(site.requests).toBe(3)
  })

  const unknown = { code: 'network', permanent: false, isUnknown: true }
  it.each([
    [503, {}, { ...unknown, http: 503 }],
    [429, { 'retry-after': '3' }, { ...unknown, http: 429, retryAfterMs: 3_000 }],
    [401, {}, { ...unknown, lookup: 'failed' }],
    [200, {}, { ...unknown, lookup: 'failed' }],
  ])(
    'EXECUTE-3: a lookup that is answered %i %j leaves it unknown',
    async (status, headers, expected) => {
      const site = await plainServer((request, response) => {
        if (request.method === 'POST') request.socket.destroy()
        else response.writeHead(status, headers).end()
      })
      const row = siteRow(site.url, { adapter: siteLookup(site.url) })
      const { source } = await workerFor({ site: row })
      expect(failureOf(await source.lease())).toEqual(expected)
    },
  )

  it('EXECUTE-3: a lookup without an answer is worth another', async () => {
    const site = await plainServer((request) => request.socket.destroy())
    const row = siteRow(site.url, { adapter: siteLookup(site.url) })
    const { source } = await workerFor({ site: row })
    expect(failureOf(await source.lease())).toEqual(unknown)
    expect(site.requests).toBe(2)
  })

  it('EXECUTE-3: a status that the taxonomy calls unknown is looked up like a lost answer', async () => {
    const { source, site } = await scene({ errorPermille: 1_000 }, (url) => {
      const unknown = { '500': 'unknown', '502': 'unknown', '503': 'unknown' }
      return siteRow(url, { profile: { error_taxonomy: unknown }, adapter: siteLookup(url) })
    })
    expect(failureOf(await source.lease())).toMatchObject({ lookup: 'not_booked' })
    expect((await arrivals(site))[1]).toBe('lookup 200')
  })

  it('EXECUTE-1: the task lookup sends nothing that can book', async () => {
    const { source, site } = await scene({}, (url) => siteRow(url, { adapter: siteLookup(url) }))
    expect(failureOf(await source.lease({ task: 'lookup' }))).toMatchObject({
      isUnknown: true,
      lookup: 'not_booked',
    })
    await source.lease()
    expect(outputOf(await source.lease({ task: 'lookup' }))).toMatchObject({ isLookedUp: true })
    expect(await arrivals(site)).toEqual(['lookup 200', 'book 201', 'lookup 200'])
  })
})

describe('holds', () => {
  const row = (url: string, ttl = 60_000) =>
    siteRow(url, { profile: { ...HOLDS, hold_ttl_ms: ttl }, adapter: siteHolds(url) })

  it('EXECUTE-4: hold, then commit once the lease was confirmed', async () => {
    const { source, site } = await scene({}, row)
    expect(outputOf(await source.lease())).toMatchObject({ outcome: 'booked' })
    expect(await arrivals(site)).toEqual(['hold 201', 'commit 201'])
    expect(source.calls).toEqual(['ack', 'acked', 'renew', 'complete'])
  })

  it('EXECUTE-4: a commit that is refused is followed by a release', async () => {
    const calls: string[] = []
    const site = await plainServer((request, response) => {
      calls.push(request.method ?? '')
      const isCommit = request.url?.endsWith('/commit') === true
      response.writeHead(isCommit ? 402 : 201, { 'content-type': 'application/json' })
      response.end(isCommit ? '{"error":{"code":"unpaid"}}' : '{"hold":{"id":"h/1"}}')
    })
    const { source } = await workerFor({ site: row(site.url) })
    expect(failureOf(await source.lease())).toMatchObject({ code: 'other', permanent: true })
    expect(calls).toEqual(['POST', 'POST', 'DELETE'])
    expect(site.paths[2]).toMatch(/\/holds\/h%2F1$/)
  })

  it('EXECUTE-4: a hold whose time is over is given back, not booked', async () => {
    const clock = new TestClock(1_760_000_000_000)
    const { source, site } = await scene({}, (url) => row(url, 1_000), { clock })
    source.renewGate = () => clock.advance(1_000)
    expect(failureOf(await source.lease())).toEqual({
      code: 'not_sent',
      permanent: false,
      isUnsent: true,
    })
    expect(await arrivals(site)).toEqual(['hold 201', 'release 200'])
    expect((await site.seen()).holds).toBe(0)
  })

  it('EXECUTE-4: a lease that is not confirmed commits nothing', async () => {
    const { source, site } = await scene({}, row)
    source.renewGate = () => Promise.reject(new Error('not yours'))
    expect(failureOf(await source.lease())).toMatchObject({ code: 'not_sent' })
    expect(await arrivals(site)).toEqual(['hold 201', 'release 200'])
  })

  it('EXECUTE-4: a commit that may have booked is not released', async () => {
    const { source, site } = await scene({ cutPermille: 1_000 }, row)
    expect(failureOf(await source.lease())).toMatchObject({ isUnknown: true })
    expect(await arrivals(site)).toEqual(['hold 201', 'commit cut'])
  })

  it('EXECUTE-4: a full session refuses the hold, and no call that can book was sent', async () => {
    const { source } = await scene({ seats: 0 }, row)
    expect(failureOf(await source.lease())).toMatchObject({
      code: 'sold_out',
      permanent: true,
      isUnsent: true,
    })
  })
})

describe('the success fee', () => {
  it('FEE-1: is charged for a booking, with one key for all attempts', async () => {
    const keys: string[] = []
    const { source } = await scene({}, siteRow, {
      charge: async ({ idempotencyKey }) => {
        keys.push(idempotencyKey)
      },
    })
    expect(outputOf(await source.lease())).toMatchObject({ feeStatus: 'charged' })
    await source.lease()
    await source.lease({ n: 2 })
    expect(keys[0]).toMatch(/^[0-9a-f]{64}-fee$/)
    expect(keys[1]).toBe(keys[0])
    expect(keys[2]).not.toBe(keys[0])
  })

  it('FEE-1: what goes wrong with it undoes no booking, and somebody hears of it', async () => {
    const { source, events } = await scene({}, siteRow, {
      charge: () => Promise.reject(new Error('card refused')),
    })
    expect(outputOf(await source.lease())).toMatchObject({ outcome: 'booked', feeStatus: 'failed' })
    expect(events).toContainEqual({ type: 'feeFailed', jobId: jobId(1), platform: 'site' })
  })

  it('FEE-1: is taken by a call that is configured, with the key of the fee and a secret', async () => {
    const charges: { key: unknown; authorization: unknown; body: unknown }[] = []
    let status = 201
    const billing = await plainServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const { authorization, 'idempotency-key': key } = request.headers
        charges.push({ key, authorization, body: JSON.parse(Buffer.concat(chunks).toString()) })
        response.writeHead(status).end()
      })
    })
    const charge = {
      url: `${billing.url}/fees`,
      headers: { authorization: 'Bearer ${env:SITE_KEY}' },
      body: { who: '{user_id}', number: '{booking_number?}', key: '{idempotency_key}' },
    }
    const row = (url: string) => {
      const { adapter, ...rest } = siteRow(url) as { adapter: object }
      return { ...rest, adapter: { ...adapter, charge } }
    }
    const { source, events, errors } = await scene({}, row)
    const booked = outputOf(await source.lease())
    expect(booked).toMatchObject({ outcome: 'booked', feeStatus: 'charged' })
    const { bookingNumber } = booked as { bookingNumber: string }
    const [first] = charges
    expect(first?.key).toMatch(/^[0-9a-f]{64}-fee$/)
    expect(first).toEqual({
      key: first?.key,
      authorization: `Bearer ${SITE_KEY}`,
      body: { who: expect.any(String), number: bookingNumber, key: first?.key },
    })
    status = 402
    const unpaid = outputOf(await source.lease({ n: 2 }))
    expect(unpaid).toMatchObject({ outcome: 'booked', feeStatus: 'failed' })
    expect(events).toContainEqual({ type: 'feeFailed', jobId: jobId(2), platform: 'site' })
    expect(String(errors.at(-1))).toContain('the charge was answered with 402')
  })

  it('FEE-1: a charge that takes too long has failed', async () => {
    const { source } = await scene({}, siteRow, {
      charge: () => new Promise(() => {}),
      chargeTimeoutMs: 20,
    })
    expect(outputOf(await source.lease())).toMatchObject({ outcome: 'booked', feeStatus: 'failed' })
  })
})

const thrown = new Error('broken')
describe.each([
  [
    'throws',
    (): never => {
      throw thrown
    },
  ],
  ['rejects', () => Promise.reject(thrown)],
])('an observer that %s', (_, given) => {
  const observer = given as () => void
  it('EXECUTE-7: changes no outcome: a booking whose fee was not taken is reported as booked', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { source } = await scene({}, siteRow, {
      charge: () => Promise.reject(new Error('card refused')),
      onEvent: observer,
      onError: observer,
    })
    expect(outputOf(await source.lease())).toMatchObject({ outcome: 'booked', feeStatus: 'failed' })
    expect(warn).toHaveBeenCalledWith('onError of a sign-up worker failed with a Error')
    warn.mockRestore()
  })

  it('EXECUTE-7: changes no outcome: an answer that its adapter cannot read stays unknown', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const site = await plainServer((_request, response) => response.writeHead(200).end())
    const broken: Adapter = {
      request: () => ({ method: 'POST', url: site.url, headers: {}, body: null }),
      outcome: () => {
        throw thrown
      },
    }
    const more = { adapters: { broken }, onEvent: observer, onError: observer }
    const { source } = await workerFor({ site: siteRow(site.url) }, more)
    const report = await source.lease({ provider: 'broken' })
    expect(failureOf(report)).toMatchObject({ code: 'unclear_answer', isUnknown: true })
    warn.mockRestore()
  })
})

it('FEE-1: a charge that throws at once has failed, and nothing of it is left over', async () => {
  const timeout = new AbortController()
  const spy = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(timeout.signal)
  const { source } = await scene({}, siteRow, {
    charge: () => {
      throw thrown
    },
  })
  expect(outputOf(await source.lease())).toMatchObject({ outcome: 'booked', feeStatus: 'failed' })
  spy.mockRestore()
  const unhandled: unknown[] = []
  const hear = (error: unknown) => unhandled.push(error)
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', hear)
  timeout.abort()
  await new Promise((done) => setImmediate(done))
  process.off('unhandledRejection', hear)
  for (const other of others) process.on('unhandledRejection', other)
  expect(unhandled).toEqual([])
})

describe('what must not get out', () => {
  it.each([
    ['10 kB', 'B'.repeat(10_240)],
    ['control characters', '\u001b]0;title\u0007B\r\n7'],
    ['bidi marks', 'B\u202e7\u2069'],
  ])(
    'RECEIPT-3: a booking number of %s is a marker to the books and to the charge',
    async (_, number) => {
      const site = await plainServer((_request, response) => {
        response.writeHead(201, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ booking: { status: 'confirmed', number } }))
      })
      const own: Adapter = {
        request: () => ({ method: 'POST', url: site.url, headers: {}, body: null }),
        outcome: () => ({ type: 'booked', bookingNumber: number }),
      }
      const charged: (string | null)[] = []
      const { source } = await workerFor(
        { site: siteRow(site.url) },
        {
          adapters: { own },
          charge: async ({ bookingNumber }) => {
            charged.push(bookingNumber)
          },
        },
      )
      for (const provider of ['site', 'own']) {
        const report = await source.lease({ provider })
        expect(outputOf(report)).toMatchObject({ outcome: 'booked', feeStatus: 'charged' })
        const { output } = (report as Extract<Report, { type: 'complete' }>).result
        expect(decodeCbor(output as Uint8Array)).toMatchObject({ booking_number: '[unreadable]' })
      }
      expect(charged).toEqual(['[unreadable]', '[unreadable]'])
    },
  )

  it.each([
    ['unknown_user_Anna-17', {}, 'other'],
    ['Kim', {}, 'other'],
    ['not_for_kim', { not_for_kim: 'permanent' }, 'not_for_kim'],
    ['kid_is_too_young', {}, 'other'],
    ['sold_out', {}, 'sold_out'],
  ])(
    'ADAPTER-4: a code that neither the rules nor the operator name is told as other: %s, %j',
    async (code, taxonomy, expected) => {
      const site = await plainServer((_, response) => {
        response.writeHead(422, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ error: { code } }))
      })
      const row = siteRow(site.url, { profile: { error_taxonomy: taxonomy } })
      const { source, events } = await workerFor({ site: row })
      const person = { user: 'anna-17', args: { child: 'Kim', toy: 'kid' } }
      expect(failureOf(await source.lease(person))).toMatchObject({
        ...{ code: expected, http: 422, permanent: true },
      })
      expect(events).toMatchObject([{ type: 'attemptEnded', result: expected, http: 422 }])
    },
  )

  it('ADAPTER-2: neither secrets nor personal data are in events, errors and reports', async () => {
    const site = await plainServer((request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { code: request.headers.authorization } }))
    })
    const broken: Adapter = {
      request: () => {
        throw new Error(`no way to register Ann with ${SITE_KEY}`)
      },
      outcome: () => ({ type: 'unclear', http: 200 }),
    }
    const { source, events, errors, worker } = await workerFor(
      { site: siteRow(site.url) },
      { adapters: { broken } },
    )
    const reports = [
      await source.lease({ user: 'ann@example.org', args: { child: 'Ann' } }),
      await source.lease({ provider: 'broken', args: { child: 'Ann' } }),
    ]
    const all = inspect({ reports, events, errors, worker }, { depth: 20, showHidden: true })
    for (const secret of [SITE_KEY, 'Ann', 'ann@']) expect(all).not.toContain(secret)
    expect(failureOf(reports[1] as Report)).toMatchObject({ code: 'adapter_error' })
  })
})

interface PlainServer {
  readonly url: string
  readonly paths: readonly string[]
  readonly requests: number
  /** Resolves when so many requests have come. */
  until(count: number): Promise<void>
}

async function plainServer(handler: Parameters<typeof createServer>[1]): Promise<PlainServer> {
  const paths: string[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  const server: Server = createServer((request, response) => {
    paths.push(request.url ?? '')
    handler?.(request, response as never)
    for (const { count, resolve } of waiting) if (paths.length >= count) resolve()
  })
  server.listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    get requests() {
      return paths.length
    },
    until: (count) =>
      new Promise((resolve) => {
        if (paths.length >= count) resolve()
        else waiting.push({ count, resolve })
      }),
  }
}
