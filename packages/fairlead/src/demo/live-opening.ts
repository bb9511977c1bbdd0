import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { NodeClient, RegistrationRecord } from '@fairlead/client'
import { OPENING, openingProviders } from './opening-cast.ts'

/** What became of the people of an opening. */
export interface OpeningFigures {
  readonly people: number
  readonly seats: number
  readonly by_place: readonly PlaceFigures[]
  /** What did not end as it should have. */
  readonly wrong: readonly string[]
}

interface PlaceFigures {
  readonly from: number
  readonly to: number
  readonly tried: number
  readonly booked: number
  /** Of the first attempt behind the opening. */
  readonly median_delay_ms: number
}

const LOOK_MS = 250
const PLACES = [10, 20, 30, 50, 100, 200]

/** An opening: a booking site, a signup worker, and people of several tenants in one line. */
export class LiveOpening {
  readonly #admin: NodeClient
  readonly #opensAt = Date.now() + OPENING.opensAfterMs
  readonly #children: ChildProcess[] = []
  #siteUrl = ''
  #line = ''

  constructor(admin: NodeClient) {
    this.#admin = admin
  }

  /** How it stands, in a few words. */
  get line(): string {
    const leftMs = this.#opensAt - Date.now()
    return leftMs > 0 ? `booking opens in ${Math.ceil(leftMs / 1_000)} s` : this.#line
  }

  /** Resolves when everybody is in line. */
  async start(server: {
    readonly url: string
    readonly token: string
    readonly tenants: readonly NodeClient[]
  }): Promise<void> {
    const { url, token, tenants } = server
    const site = this.#spawn('./site-process.js', { opensAt: this.#opensAt, seats: OPENING.seats })
    this.#siteUrl = await firstLine(site)
    this.#spawn('./signup-process.js', { url, token, providers: openingProviders(this.#siteUrl) })
    for (let i = 0; i < OPENING.people; i++) {
      // One after the other: the order in which they come is the order in which they are tried.
      await (tenants[i % tenants.length] as NodeClient).schedule({
        ...OPENING.session,
        user_id: `person-${i + 1}`,
        opens_at: this.#opensAt,
        program_name: OPENING.programName,
      })
    }
  }

  /** Waits until everybody is through, and says how it went. */
  async end(signal: AbortSignal): Promise<OpeningFigures> {
    while (!signal.aborted) {
      const { session } = await this.#admin.getSession({ ...OPENING.session, limit: 1 })
      const { is_open, waiting, in_flight, completed } = session
      const tried = OPENING.people - waiting - in_flight
      this.#line = `booking is open: ${tried} of ${OPENING.people} people through, ${completed} in`
      if (is_open && waiting + in_flight === 0) break
      await delay(LOOK_MS)
    }
    const all: RegistrationRecord[] = []
    for await (const one of this.#admin.listRegistrations(OPENING.session)) all.push(one)
    const response = await fetch(this.#siteUrl)
    const { booked } = (await response.json()) as { booked: string[] }
    return {
      people: all.length,
      seats: OPENING.seats,
      by_place: placeFigures(all),
      wrong: wrongEnds(all, booked),
    }
  }

  async close(): Promise<void> {
    const gone = this.#children
      .filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      .map((child) => once(child, 'exit'))
    for (const child of this.#children) child.kill('SIGTERM')
    await Promise.all(gone)
  }

  #spawn(program: string, orders: object): ChildProcess {
    const path = fileURLToPath(new URL(program, import.meta.url))
    const child = spawn(process.execPath, [path], { stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdin?.on('error', () => {})
    child.stdin?.write(`${JSON.stringify(orders)}\n`)
    this.#children.push(child)
    return child
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout as Readable })
  const [line] = (await Promise.race([once(lines, 'line'), once(child, 'exit')])) as unknown[]
  if (typeof line !== 'string') throw new Error('the booking site of the demo has not started')
  return line
}

/** Everybody ends with a seat or because there was none; the site has the same seats, one for each. */
function wrongEnds(all: readonly RegistrationRecord[], booked: readonly string[]): string[] {
  const wrong = all
    .filter(({ result, reason }) => result !== 'booked' && reason !== 'sold_out')
    .map(({ reference, result, reason }) => `${reference} is ${result} (${reason})`)
  const seated = all.filter(({ result }) => result === 'booked').length
  if (all.length !== OPENING.people) wrong.push(`${all.length} of ${OPENING.people} are known`)
  if (seated !== OPENING.seats) wrong.push(`${seated} have one of ${OPENING.seats} seats`)
  if (booked.length !== seated) wrong.push(`the site booked ${booked.length} seats, not ${seated}`)
  if (new Set(booked).size !== booked.length) wrong.push('somebody was booked twice')
  return wrong
}

function placeFigures(all: readonly RegistrationRecord[]): PlaceFigures[] {
  return PLACES.map((to, i) => {
    const from = (PLACES[i - 1] ?? 0) + 1
    const here = all.filter(({ rank }) => rank !== null && rank + 1 >= from && rank < to)
    const delays = here.map((one) => one.first_attempt_delay_ms ?? 0).sort((a, b) => a - b)
    return {
      from,
      to,
      tried: here.filter(({ attempts }) => attempts > 0).length,
      booked: here.filter(({ result }) => result === 'booked').length,
      median_delay_ms: delays[Math.floor(delays.length / 2)] ?? 0,
    }
  })
}
