import { taggedHash } from '@fairlead/core'
import type { Arrival, Booking, BookingRules, Seen } from './booking-rules.ts'

/** A request, read. */
export interface SiteCall {
  readonly call: Arrival['call']
  readonly org: string
  readonly event: string
  readonly user: string
  readonly key: string | null
  readonly holdId: string | null
  readonly token: string | null
}

/** What is sent back; `hang` and `cut` send nothing. */
export interface SiteAnswer {
  readonly status: number
  readonly body: object
  readonly retryAfterSecs?: number
  readonly fate?: 'hang' | 'cut'
}

interface Hold {
  readonly org: string
  readonly event: string
  readonly user: string
  readonly endsAt: number
}

const ERRORS = [500, 502, 503] as const

/**
 * The books of a fake booking site. It lets a user book twice: what must not happen is for the tests to
 * see, not for the site to prevent.
 */
export class BookingSite {
  readonly #rules: BookingRules
  readonly #arrivals: Arrival[] = []
  readonly #bookings: Booking[] = []
  readonly #holds = new Map<string, Hold>()
  /** Answers by idempotency key. */
  readonly #answered = new Map<string, SiteAnswer>()
  readonly #buckets = new Map<string, { level: number; at: number }>()
  readonly #visits = new Map<string, number>()
  #number = 1_000

  constructor(rules: BookingRules) {
    this.#rules = rules
  }

  seen(at: number): Seen {
    const holds = [...this.#holds.values()].filter(({ endsAt }) => endsAt > at).length
    return { arrivals: this.#arrivals, bookings: this.#bookings, holds }
  }

  /** Answers a call that arrived at `at`, on the machine's true clock. */
  serve(call: SiteCall, at: number): SiteAnswer {
    const answer = this.#answerTo(call, at)
    const { call: name, org, event, user, key } = call
    const result = answer.fate ?? String(answer.status)
    this.#arrivals.push({ at, call: name, org, event, user, key, result })
    return answer
  }

  #answerTo(call: SiteCall, at: number): SiteAnswer {
    const { rateLimit, token, clockSkewMs, opensAt } = this.#rules
    if (token !== null && call.token !== token) return refused(401, 'auth_error')
    if (rateLimit !== null && !this.#takesToken(call.org, at, rateLimit)) {
      return { ...refused(429, 'rate_limited'), retryAfterSecs: rateLimit.retryAfterSecs }
    }
    if (call.call === 'lookup') return this.#lookup(call)
    if (call.call === 'release') return this.#release(call)
    if (at + clockSkewMs < opensAt) return refused(409, 'not_yet_open')
    const roll = this.#roll(call)
    const { errorPermille, hangPermille, cutPermille } = this.#rules
    if (roll < errorPermille) return refused(ERRORS[roll % ERRORS.length] as number, null)
    const answer = this.#decide(call, at)
    if (call.call === 'hold' || answer.status >= 300) return answer
    if (roll < errorPermille + hangPermille) return { ...answer, fate: 'hang' }
    if (roll < errorPermille + hangPermille + cutPermille) return { ...answer, fate: 'cut' }
    return answer
  }

  #decide(call: SiteCall, at: number): SiteAnswer {
    const id = `${call.org}\n${call.event}\n${call.key}`
    const before = this.#rules.idempotency && call.key !== null && this.#answered.get(id)
    if (before) return before
    const answer =
      call.call === 'hold'
        ? this.#hold(call, at)
        : call.call === 'commit'
          ? this.#commit(call, at)
          : this.#book(call, at)
    if (call.key !== null && answer.status < 300) this.#answered.set(id, answer)
    return answer
  }

  #book(call: SiteCall, at: number): SiteAnswer {
    if (this.#free(call, at) > 0) return this.#booked(call, 'confirmed', at)
    const { waitlist } = this.#rules
    const waiting = this.#count(call, 'waitlisted')
    return waiting < waitlist ? this.#booked(call, 'waitlisted', at) : refused(409, 'sold_out')
  }

  #booked({ org, event, user }: SiteCall, status: Booking['status'], at: number): SiteAnswer {
    const number = `B-${this.#number++}`
    this.#bookings.push({ number, status, org, event, user, at })
    return { status: status === 'confirmed' ? 201 : 202, body: { booking: { number, status } } }
  }

  #hold(call: SiteCall, at: number): SiteAnswer {
    if (this.#free(call, at) === 0) return refused(409, 'sold_out')
    const id = `H-${this.#number++}`
    const { org, event, user } = call
    this.#holds.set(id, { org, event, user, endsAt: at + this.#rules.holdTtlMs })
    return { status: 201, body: { hold: { id } } }
  }

  #commit(call: SiteCall, at: number): SiteAnswer {
    const hold = this.#holds.get(call.holdId ?? '')
    if (hold === undefined) return refused(404, 'not_found')
    this.#holds.delete(call.holdId ?? '')
    if (hold.endsAt <= at) return refused(409, 'hold_expired')
    return this.#booked(call, 'confirmed', at)
  }

  #release(call: SiteCall): SiteAnswer {
    const isThere = this.#holds.delete(call.holdId ?? '')
    return isThere ? { status: 200, body: {} } : refused(404, 'not_found')
  }

  #lookup({ org, event, user }: SiteCall): SiteAnswer {
    const bookings = this.#bookings
      .filter((one) => one.org === org && one.event === event && one.user === user)
      .map(({ number, status }) => ({ number, status }))
    return { status: 200, body: { bookings } }
  }

  #free(call: SiteCall, at: number): number {
    const held = [...this.#holds.values()].filter(
      ({ org, event, endsAt }) => org === call.org && event === call.event && endsAt > at,
    )
    return Math.max(0, this.#rules.seats - this.#count(call, 'confirmed') - held.length)
  }

  #count({ org, event }: SiteCall, status: Booking['status']): number {
    return this.#bookings.filter(
      (one) => one.org === org && one.event === event && one.status === status,
    ).length
  }

  #takesToken(
    org: string,
    at: number,
    { perSecond, burst }: NonNullable<BookingRules['rateLimit']>,
  ): boolean {
    const bucket = this.#buckets.get(org) ?? { level: burst, at }
    bucket.level = Math.min(burst, bucket.level + ((at - bucket.at) * perSecond) / 1_000)
    bucket.at = at
    this.#buckets.set(org, bucket)
    if (bucket.level < 1) return false
    bucket.level--
    return true
  }

  /** 0 to 999, by who comes and how often it came: the order of arrivals does not matter. */
  #roll({ call, org, event, user }: SiteCall): number {
    const id = `${call}\n${org}\n${event}\n${user}`
    const n = this.#visits.get(id) ?? 0
    this.#visits.set(id, n + 1)
    const bytes = taggedHash('booking', this.#rules.seed, id, n)
    return Buffer.from(bytes).readUInt32BE(0) % 1_000
  }
}

function refused(status: number, code: string | null): SiteAnswer {
  return { status, body: code === null ? {} : { error: { code } } }
}
