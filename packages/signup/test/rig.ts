import {
  encodeCbor,
  idempotencyKey,
  type JobId,
  type LeaseFailure,
  type LeaseId,
  type LeaseListener,
  type LeaseOffer,
  type LeaseResult,
  type LeaseSession,
  type LeaseSource,
  type LeaseTask,
  type ProviderId,
  type WorkerHello,
} from '@fairlead/core'
import { startBookingProvider } from '@fairlead/testkit/booking-provider'
import { type Providers, readProviders } from '../src/index.ts'

export type Report =
  | { readonly type: 'complete'; readonly result: LeaseResult }
  | { readonly type: 'fail'; readonly failure: LeaseFailure }
  | { readonly type: 'decline' | 'release' }

/** A source of leases that a test hands out by itself; each ends with what the worker reported. */
export class HandSource implements LeaseSource {
  readonly hellos: WorkerHello[] = []
  /** What was called, in order. */
  readonly calls: string[] = []
  /** Stands between a call for an ack and its answer. */
  ackGate: Promise<void> = Promise.resolve()
  /** Stands between a renewal and its answer. */
  renewGate: () => Promise<void> = async () => {}
  readonly #reports = new Map<LeaseId, (report: Report) => void>()
  #listener: LeaseListener | null = null
  #opened: () => void = () => {}
  #count = 0

  async open(hello: WorkerHello, listener: LeaseListener): Promise<LeaseSession> {
    this.hellos.push(hello)
    this.#listener = listener
    setImmediate(() => this.#opened())
    const report = async (leaseId: LeaseId, what: Report): Promise<void> => {
      this.calls.push(what.type)
      this.#reports.get(leaseId)?.(what)
    }
    return {
      ack: async () => {
        this.calls.push('ack')
        await this.ackGate
        this.calls.push('acked')
      },
      progress: () => Promise.resolve(),
      renew: async (leaseId) => {
        this.calls.push('renew')
        await this.renewGate()
        return { leaseId, ...TIMES }
      },
      decline: (leaseId) => report(leaseId, { type: 'decline' }),
      release: (leaseId) => report(leaseId, { type: 'release' }),
      complete: (leaseId, result) => report(leaseId, { type: 'complete', result }),
      fail: (leaseId, failure) => report(leaseId, { type: 'fail', failure }),
      setSlots: async () => {},
      heartbeat: async () => {},
      close: async () => {},
    }
  }

  /** Resolves when the next session is open. */
  nextOpen(): Promise<void> {
    return new Promise((resolve) => {
      this.#opened = resolve
    })
  }

  /** Hands one lease out. */
  lease(job: Partial<TestJob> = {}): Promise<Report> {
    const offer = offerOf({ ...JOB, ...job }, ++this.#count)
    return new Promise((resolve) => {
      this.#reports.set(offer.leaseId, resolve)
      this.#listener?.offer(offer)
    })
  }
}

const TIMES = { at: 0, renewBy: 30_000, deadline: 60_000 }

interface TestJob {
  readonly provider: string
  readonly org: string
  readonly event: string
  readonly user: string
  readonly args: { readonly [key: string]: string }
  readonly task: LeaseTask
  readonly n: number
}

const JOB: TestJob = {
  provider: 'site',
  org: 'org-1',
  event: 'evt-1',
  user: 'user-1',
  args: {},
  task: 'book',
  n: 1,
}

export function jobId(n: number): JobId {
  return `0x${n.toString(16).padStart(64, '0')}` as JobId
}

function offerOf(
  { provider, org, event, user, args, task, n }: TestJob,
  count: number,
): LeaseOffer {
  const payload = {
    provider,
    org_ref: org,
    event_id: event,
    user_id: user,
    args,
    scheduled_time: 1_760_000_000_000,
  }
  return {
    leaseId: `0x${count.toString(16).padStart(64, 'f')}` as LeaseId,
    jobId: jobId(n),
    providerId: 'provider:signup' as ProviderId,
    attempt: 0,
    kind: 'registration',
    model: null,
    payload: encodeCbor(payload),
    ackBy: 5_000,
    tStart: 0,
    lengthMs: 60_000,
    renewalsMax: 4,
    traceparent: null,
    task,
    rank: 3,
    idempotencyKey: idempotencyKey(jobId(n)),
    ...TIMES,
  }
}

/** How the fake booking site is spoken to, as an operator would write it. */
export function siteRow(url: string, more: { profile?: object; adapter?: object } = {}): object {
  const base = `${url}/orgs/{org_ref}/events/{event_id}`
  const headers = { authorization: 'Bearer {credential}' }
  const body = { user: '{user_id}' }
  return {
    display_name: 'The Site',
    profile: {
      booking_model: 'immediate_commit',
      supports_waitlist: true,
      success_definition: { http: [201], path: 'booking.status', equals: ['confirmed'] },
      ...more.profile,
    },
    adapter: {
      timeout_ms: 5_000,
      lookup_settle_ms: 0,
      credentials: { default: '${env:SITE_KEY}' },
      book: { url: `${base}/bookings`, headers, body },
      answer: {
        booking_number: 'booking.number',
        error_code: 'error.code',
        hold_id: 'hold.id',
        waitlisted: { path: 'booking.status', equals: ['waitlisted'] },
      },
      ...more.adapter,
    },
  }
}

/** A call that asks the fake site for the bookings of a user. */
export function siteLookup(url: string): object {
  return {
    lookup: {
      url: `${url}/orgs/{org_ref}/events/{event_id}/bookings?user={user_id}`,
      headers: { authorization: 'Bearer {credential}' },
    },
    lookup_answer: {
      booking_number: 'bookings.0.number',
      waitlisted: { path: 'bookings.0.status', equals: ['waitlisted'] },
    },
  }
}

/** Calls that hold a seat at the fake site, and book or give back what is held. */
export function siteHolds(url: string): object {
  const base = `${url}/orgs/{org_ref}/events/{event_id}/holds`
  const headers = { authorization: 'Bearer {credential}' }
  const body = { user: '{user_id}' }
  return {
    hold: { url: base, headers, body },
    commit: { url: `${base}/{hold_id}/commit`, headers, body },
    release: { url: `${base}/{hold_id}`, headers },
  }
}

export const SITE_KEY = 'k3y-0f-th3-s1t3'

export function providersOf(rows: Readonly<Record<string, object>>): Providers {
  return readProviders(JSON.stringify({ providers: rows }), { env: { SITE_KEY }, folder: '.' })
}

export { startBookingProvider }
