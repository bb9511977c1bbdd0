import type { Json } from '@fairlead/client'
import type { JobId } from '@fairlead/core'

/** A registration as an adapter gets it. */
export interface SignupJob {
  readonly jobId: JobId
  readonly platform: string
  readonly orgRef: string
  readonly eventId: string
  readonly userId: string
  readonly args: { readonly [key: string]: Json }
  readonly scheduledTime: number
  /** The same for all attempts of the job. */
  readonly idempotencyKey: string
}

export interface HttpCall {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface HttpAnswer {
  readonly status: number
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** What the body holds as JSON; undefined where it is none. */
  readonly json: unknown
}

/** An answer that says no. */
export interface Refusal {
  readonly type: 'refused'
  readonly http: number
  /** A word of the taxonomy, or one of the platform's own. */
  readonly code?: string
}

export type BookingAnswer =
  | { readonly type: 'booked' | 'waitlisted'; readonly bookingNumber: string | null }
  | Refusal
  /** It neither says that there is a seat nor that there is none. */
  | { readonly type: 'unclear'; readonly http: number }

export type HoldAnswer =
  | { readonly type: 'held'; readonly holdId: string }
  | Refusal
  /** There is no seat to hold, and a place on the waitlist was given instead. */
  | { readonly type: 'waitlisted'; readonly bookingNumber: string | null }

export type LookupAnswer =
  | { readonly type: 'booked' | 'waitlisted'; readonly bookingNumber: string | null }
  | { readonly type: 'not_booked' }
  | { readonly type: 'failed' }

/**
 * How a platform is spoken to: a job becomes a call, an answer becomes an outcome. An adapter sends
 * nothing itself; time-outs, Retry-After, lookups and holds are the executor's.
 */
export interface Adapter {
  /** The call that books. With a hold it is the commit of what is held. */
  request(job: SignupJob, holdId: string | null): HttpCall
  outcome(answer: HttpAnswer): BookingAnswer
  /** Holds a seat first; the platform's profile says `hold_then_commit`. */
  readonly hold?: {
    request(job: SignupJob): HttpCall
    outcome(answer: HttpAnswer): HoldAnswer
    /** Gives a seat back that was not booked; left out, its time runs out by itself. */
    release?(job: SignupJob, holdId: string): HttpCall
  }
  /** Asks whether a job has a booking. */
  readonly lookup?: {
    request(job: SignupJob): HttpCall
    outcome(answer: HttpAnswer): LookupAnswer
  }
  /** The call that takes the success fee; any 2xx says that it did. */
  charge?(job: SignupJob, bookingNumber: string | null, idempotencyKey: string): HttpCall
}
