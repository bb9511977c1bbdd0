/** How a fake booking site behaves. */
export interface BookingRules {
  /** On the site's own clock, for all of its events. */
  readonly opensAt: number
  /** Of each event. */
  readonly seats: number
  /** Places on the waitlist of each event. */
  readonly waitlist: number
  /** By how much its clock is ahead. */
  readonly clockSkewMs: number
  /** Of each organisation; null is none. */
  readonly rateLimit: {
    readonly perSecond: number
    readonly burst: number
    readonly retryAfterSecs: number
    /** As a date instead of seconds. */
    readonly asDate?: boolean
  } | null
  /** Heeds a key that comes in a header, the body or the query. */
  readonly idempotency: boolean
  /** Of 1,000 bookings: answered with an error, nothing booked. */
  readonly errorPermille: number
  /** Of 1,000 bookings: booked, and never answered. */
  readonly hangPermille: number
  /** Of 1,000 bookings: booked, and the line is cut. */
  readonly cutPermille: number
  readonly latencyMs: number
  readonly holdTtlMs: number
  /** The bearer token that it wants; null lets everybody in. */
  readonly token: string | null
  /** Decides which bookings go wrong: by user and how often that user has come. */
  readonly seed: string
}

/** One call as the site saw it. */
export interface Arrival {
  /** In ms on the machine's true clock, with fractions. */
  readonly at: number
  readonly call: 'book' | 'hold' | 'commit' | 'release' | 'lookup'
  readonly org: string
  readonly event: string
  readonly user: string
  readonly key: string | null
  /** What it was answered with; `hang` and `cut` booked and were not answered. */
  readonly result: string
}

export interface Booking {
  readonly number: string
  readonly status: 'confirmed' | 'waitlisted'
  readonly org: string
  readonly event: string
  readonly user: string
  readonly at: number
}

/** All that the site knows. */
export interface Seen {
  readonly arrivals: readonly Arrival[]
  readonly bookings: readonly Booking[]
  /** Seats that are held now and not booked. */
  readonly holds: number
}

export const CALM: BookingRules = {
  opensAt: 0,
  seats: 1_000_000,
  waitlist: 0,
  clockSkewMs: 0,
  rateLimit: null,
  idempotency: false,
  errorPermille: 0,
  hangPermille: 0,
  cutPermille: 0,
  latencyMs: 0,
  holdTtlMs: 60_000,
  token: null,
  seed: 'calm',
}
