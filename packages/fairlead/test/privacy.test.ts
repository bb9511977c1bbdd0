import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type NodeClient } from '@fairlead/client'
import { type BookingProvider, startBookingProvider } from '@fairlead/testkit/booking-provider'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CliProcess, fairlead } from './cli-process.ts'

/** Everything that must not be left anywhere: each has this in it. */
const MARK = 'xyzzy'
const SITE_KEY = `${MARK}-site-key`
const BOOKING_NUMBER = `${MARK}-B-7`
const FILE_KEY = `${MARK}-file-key`
const user = (n: number) => `${MARK}-user-${n}`
const ARGS = {
  child: {
    first_name: `${MARK}-child`,
    birth_date: `2015-01-01 ${MARK}`,
    allergies: [`${MARK} nuts`],
  },
  parent_email: `${MARK}@example.org`,
  phone: `+49 30 ${MARK}`,
  address: `${MARK} street 1`,
  note: `call ${MARK} after six`,
  password: `${MARK}-password`,
}

let folder: string
let site: BookingProvider
let echo: Server
const running: CliProcess[] = []
/** What all processes printed. */
const printed: string[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-privacy-'))
  site = await startBookingProvider({ token: SITE_KEY, seats: 1, waitlist: 1, cutPermille: 300 })
  // A site that repeats whatever it is told, where a code or a number is expected.
  echo = createServer((request, response) => {
    const said = request.headers['x-person'] as string
    const secret = request.headers['x-api-key'] as string
    const event = request.url?.slice(1) ?? ''
    const isBooked = event === 'numbers' || event === 'named'
    // The name of a child that nobody told us, which only the site knows.
    const code = event === 'kids' ? `${MARK}Kim` : said
    const number = event === 'named' ? BOOKING_NUMBER : secret
    response.writeHead(isBooked ? 201 : 422, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { code }, booking: { number } }))
  })
  await new Promise<void>((done) => echo.listen(0, '127.0.0.1', done))
})

afterEach(async () => {
  for (const one of running.splice(0)) {
    one.kill('SIGKILL')
    await one.ended
  }
  printed.length = 0
  echo.close()
  await site.stop()
  rmSync(folder, { recursive: true })
})

function start(args: readonly string[], env: Record<string, string> = {}): CliProcess {
  const one = new CliProcess(args, { cwd: folder, env })
  running.push(one)
  void one.ended.then(({ out, err }) => printed.push(out, err))
  return one
}

async function token(role: string, subject: string, ...scope: string[]): Promise<string> {
  const who = ['--role', role, '--subject', subject, ...scope]
  const made = await fairlead(['token', 'create', ...who, '--json'], { cwd: folder })
  return (JSON.parse(made.out) as { token: string }).token
}

const SITES = ['--kinds', 'registration', '--platforms', 'swim,parrot']

function providersFile(): string {
  const echoUrl = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`
  const bookings = `${site.url}/orgs/{org_ref}/events/{event_id}/bookings`
  const headers = { authorization: 'Bearer {credential}' }
  const answer = {
    ...{ booking_number: 'booking.number', error_code: 'error.code' },
    waitlisted: { path: 'booking.status', equals: ['waitlisted'] },
  }
  const swim = {
    display_name: 'Swim Club',
    adapter: {
      ...{ timeout_ms: 2_000, lookup_settle_ms: 0, answer },
      credentials: { default: '${env:SWIM_KEY}' },
      book: { url: bookings, headers, body: { user: '{user_id}', person: '{args}' } },
      lookup: { url: `${bookings}?user={user_id}`, headers },
      lookup_answer: { booking_number: 'bookings.0.number' },
    },
  }
  const parrot = {
    adapter: {
      answer,
      book: {
        url: `${echoUrl}/{event_id}`,
        headers: { 'x-api-key': '${file:echo.key}', 'x-person': '{user_id}' },
        body: '{args}',
      },
    },
  }
  return JSON.stringify({ providers: { default: { max_rps: 50, burst: 50 }, swim, parrot } })
}

/** Serves until it is told otherwise, with the most that it can log. */
async function serve(port = 0): Promise<{ readonly url: string; readonly process: CliProcess }> {
  const flags = ['--port', String(port), '--log-level', 'trace']
  const process = start(['serve', ...flags], { FAIRLEAD_SIGNUP_PROVIDERS: 'providers.yaml' })
  const [, url = ''] = await process.says(/serves (http:\S+) on/)
  return { url, process }
}

describe('personal data and secrets', () => {
  it('AUDIT-3, AUDIT-9, AUDIT-11, FAIL-5: are in no file, log, event, entry, metric or error after a whole run', async () => {
    writeFileSync(join(folder, 'providers.yaml'), providersFile())
    writeFileSync(join(folder, 'echo.key'), FILE_KEY)
    const [requester, worker, auditor] = [
      await token('requester', 'club'),
      await token('provider', 'provider:signup', ...SITES),
      await token('auditor', 'eve'),
    ]
    const first = await serve()
    const { url } = first
    const signup = () =>
      start(['signup', '--providers', 'providers.yaml', '--json', '--url', url], {
        ...{ FAIRLEAD_CLIENT_TOKEN: worker, SWIM_KEY: SITE_KEY },
      })
    const booker = signup()
    await booker.says(/books at/)
    const club = connect(url, { token: requester })
    const eve = connect(url, { token: auditor })
    const told: unknown[] = []
    void (async () => {
      for await (const event of eve.events({ afterSeq: 0 })) told.push(event)
    })().catch(() => {})

    const opens_at = Date.now() + 4_000
    const jobs: string[] = []
    const schedule = async (provider: string, event_id: string, n: number, args: object = ARGS) => {
      const person = { user_id: user(n), args: args as Record<string, never>, opens_at }
      jobs.push((await club.schedule({ provider, org_ref: 'o1', event_id, ...person })).task_id)
    }
    for (let n = 0; n < 6; n++) await schedule('swim', 'lane-1', n)
    await schedule('parrot', 'codes', 6)
    await schedule('parrot', 'numbers', 7)
    await schedule('parrot', 'named', 8)
    await schedule('parrot', 'kids', 9)
    // Somebody who is killed has no time to hide anything, and what comes after reads it all again.
    first.process.kill('SIGKILL')
    await first.process.ended
    const { process: second } = await serve(Number(new URL(url).port))
    told.push(...(await refusals(club, opens_at)))
    await allEnded(club, jobs)
    booker.kill('SIGKILL')
    await booker.ended
    const another = signup()
    await another.says(/books at/)

    // It was all there: the site got it, and whoever scheduled it can read it.
    const { bookings } = await site.seen()
    expect(bookings.every((one) => one.user.includes(MARK))).toBe(true)
    expect(bookings.length).toBeGreaterThan(0)
    const own = await club.getJob(jobs[0] as string)
    expect(JSON.stringify(own)).toContain(ARGS.parent_email)
    const records = []
    for await (const one of club.listRegistrations()) records.push(one)
    expect(records.map(({ result }) => result)).toEqual(
      expect.arrayContaining(['booked', 'waitlisted', 'failed']),
    )
    expect(JSON.stringify(records.map(({ message }) => message))).toMatch(/Swim Club/)
    // The site's own words are kept nowhere, and a booking number is for the one who booked.
    expect(records.at(-1)).toMatchObject({ event_id: 'kids', result: 'failed', reason: 'other' })
    expect(records.at(-2)).toMatchObject({ event_id: 'named', booking_number: BOOKING_NUMBER })

    // Nobody else can.
    for (const id of jobs) {
      told.push(await eve.getJob(id), await eve.auditRegistration(id), await eve.explain(id))
      told.push(await eve.call('aicf.getTimeline', { task_id: id }))
      told.push(await eve.call('aicf.getResult', { task_id: id }).catch((error: Error) => error))
    }
    for await (const one of eve.listRegistrations()) told.push(one)
    told.push(await eve.call('audit.list', { limit: 1_000 }))
    told.push(records.map(({ message, reason }) => [message, reason]))
    const bearer = { authorization: `Bearer ${auditor}` }
    told.push(await (await fetch(`${url}/metrics`, { headers: bearer })).text())
    await club.close()
    await eve.close()
    for (const one of [second, another]) {
      one.kill('SIGTERM')
      await one.ended
    }
    expect(told.length).toBeGreaterThan(50)
    expect(places(JSON.stringify(told), 'told')).toEqual([])
    expect(places(printed.join('\n'), 'printed')).toEqual([])
    expect(printed.join('\n')).toMatch(/attemptEnded/)
    // What the operator wrote has the secrets, and is the operator's own.
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile() && file.name !== 'echo.key')
      .map((file) => join(file.parentPath, file.name))
    expect(files.length).toBeGreaterThan(2)
    expect(files.flatMap((file) => places(readFileSync(file), file))).toEqual([])
  })
})

/** What goes wrong, told with the data that it went wrong with. */
async function refusals(club: NodeClient, opens_at: number): Promise<unknown[]> {
  const at = { provider: 'swim', org_ref: 'o1', event_id: 'lane-1' }
  const wrong = [
    { ...at, user_id: user(0), opens_at, args: ARGS },
    { ...at, user_id: user(99), opens_at: opens_at - 1, args: ARGS },
    { ...at, user_id: user(99), opens_at: MARK, args: ARGS },
    { ...at, user_id: { name: MARK }, opens_at, args: MARK },
    { ...at, user_id: user(99), opens_at, args: { child: { deep: '\ud800', who: MARK } } },
    { ...at, user_id: `${MARK}${'x'.repeat(100_000)}`, opens_at },
  ]
  const told = await Promise.all(
    wrong.map((params) =>
      club.schedule(params as never).then(
        () => 'it was accepted',
        (error: Error) => ({ ...error, text: error.message }),
      ),
    ),
  )
  expect(told).not.toContain('it was accepted')
  return told
}

async function allEnded(club: NodeClient, jobs: readonly string[]): Promise<void> {
  const ends = new Set(['jobCompleted', 'jobFailed', 'jobExpired', 'jobCanceled'])
  const left = new Set(jobs)
  for await (const event of club.events({ afterSeq: 0 })) {
    if (ends.has(event.type) && 'jobId' in event) left.delete(event.jobId)
    if (left.size === 0) return
  }
}

/** Where the mark is: as it is, in UTF-16, and as hex, which bytes are written in. */
function places(text: string | Buffer, where: string): string[] {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  const forms = {
    utf8: Buffer.from(MARK),
    utf16: Buffer.from(MARK, 'utf16le'),
    hex: Buffer.from(Buffer.from(MARK).toString('hex')),
  }
  return Object.entries(forms).flatMap(([form, wanted]) => {
    const at = bytes.indexOf(wanted)
    if (at < 0) return []
    return [
      `${where} (${form}): …${bytes.subarray(Math.max(0, at - 100), at + 40).toString('latin1')}`,
    ]
  })
}
