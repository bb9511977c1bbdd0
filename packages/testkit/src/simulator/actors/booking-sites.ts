import {
  type CborMap,
  decodeCbor,
  type JobId,
  type LeaseId,
  type LeaseOffer,
  type LeaseTask,
} from '@fairlead/core'
import type { Dice } from '../dice.ts'
import type { Said } from '../ledger/rules/own-attempts.ts'
import type { SimDisk } from '../store/sim-disk.ts'
import { broken } from '../violation.ts'

/** One lease on a registration, from its offer to what its worker says of it. */
interface Visit {
  readonly jobId: JobId
  readonly platform: string
  readonly task: LeaseTask
  /** A worker sends nothing at this time or later. */
  deadline: number
  /** The request has gone out, and has booked. */
  isSent: boolean
  hasBooked: boolean
  /** What is said of it, once that is decided; the same however often it is said. */
  said: Said | null
}

/** A registration that its session has ended. */
export interface JobEnd {
  readonly jobId: JobId
  /** The last one that was to book. */
  readonly lastAttempt: LeaseId | null
  readonly status: string
  readonly reason: string | null
}

const NOT_SENT: Said = { isBooked: false, code: 'network', permanent: false }
const BOOKED: Said = { isBooked: true, code: '', permanent: false }
const UNKNOWN: Said = { isBooked: false, code: 'timeout', permanent: false, isUnknown: true }

/**
 * The booking sites that registrations go to. They are slow, throttle, lose answers and forget nothing:
 * what was booked stays so, and a second booking for one job ends the run. `keyed` and `both` know
 * idempotency keys.
 *
 * Workers keep the protocol here, however badly they behave otherwise: a request goes out once a lease, at
 * the moment at which its ack is answered, and what is said of it is true. A worker that broke this could
 * book twice whatever the engine does.
 */
export class BookingSites {
  readonly #dice: Dice
  readonly #disk: SimDisk
  readonly #visits = new Map<LeaseId, Visit>()
  readonly #bookings = new Set<JobId>()
  /** Leases that were given up by workers that had never seen what they are for. */
  readonly #unseen = new Set<LeaseId>()
  /** Every request is answered well. */
  isCalm = false

  constructor(dice: Dice, disk: SimDisk) {
    this.#dice = dice
    this.#disk = disk
  }

  offered({ leaseId, jobId, payload, task, deadline }: LeaseOffer): void {
    if (task === undefined) return
    const known = this.#visits.get(leaseId)
    if (known !== undefined) {
      known.deadline = deadline
      return
    }
    const said = this.#unseen.has(leaseId) ? NOT_SENT : null
    const platform = (decodeCbor(payload as Uint8Array) as CborMap)['provider'] as string
    const none = { isSent: false, hasBooked: false }
    this.#visits.set(leaseId, { jobId, platform, task, deadline, ...none, said })
  }

  /** A lease on a registration, whether or not its worker was ever offered it. */
  isVisit(leaseId: LeaseId): boolean {
    const jobId = this.#disk.leases.get(leaseId)?.jobId
    const kind = jobId === undefined ? null : this.#disk.jobs.get(jobId)?.kind
    return this.#visits.has(leaseId) || kind === 'registration'
  }

  /** Its ack is answered: the request goes out, unless it has, or something else was said by now. */
  send(leaseId: LeaseId, nowMs: number): void {
    const visit = this.#visits.get(leaseId)
    if (visit === undefined || visit.isSent || visit.said !== null) return
    if (nowMs >= visit.deadline) return
    visit.isSent = true
    visit.said = visit.task === 'lookup' ? this.#look(visit) : this.#book(visit)
  }

  /** What is said of an attempt; from then on nothing is sent for it any more. */
  say(leaseId: LeaseId): Said {
    const visit = this.#visits.get(leaseId)
    if (visit !== undefined) {
      visit.said ??= NOT_SENT
      return visit.said
    }
    this.#unseen.add(leaseId)
    return NOT_SENT
  }

  /** What has been said, or will be. */
  said(leaseId: LeaseId): Said | null {
    return this.#visits.get(leaseId)?.said ?? (this.#unseen.has(leaseId) ? NOT_SENT : null)
  }

  /** What a job has come to, held against what was really booked. */
  checkEnd(end: JobEnd): void {
    const { jobId, lastAttempt, status, reason } = end
    if (status === 'COMPLETED' && !this.#bookings.has(jobId)) {
      broken('booked-once', `job ${jobId} is COMPLETED, and nothing was booked`)
    }
    // A refusal says nothing of the attempts before it, so it is the last one that counts here.
    const hasBooked = lastAttempt !== null && this.#visits.get(lastAttempt)?.hasBooked === true
    const isSure = status !== 'COMPLETED' && reason !== 'outcome_unknown'
    if (hasBooked && isSure)
      broken('booked-once', `job ${jobId} is ${status} (${reason}), and was booked`)
  }

  #look({ jobId }: Visit): Said {
    const found = this.#bookings.has(jobId) ? 'booked' : 'not_booked'
    if (this.isCalm) return { ...NOT_SENT, lookup: found }
    if (this.#dice.oneIn(8)) return { ...NOT_SENT, lookup: 'failed' }
    // A site in trouble tells nothing for now.
    if (!this.#dice.oneIn(4)) return { ...NOT_SENT, lookup: found }
    return {
      ...NOT_SENT,
      http: this.#dice.pick([429, 503]),
      retryAfterMs: this.#dice.pick([0, 500]),
    }
  }

  #book(visit: Visit): Said {
    const answer = this.isCalm ? 'books' : this.#dice.weighted(ANSWERS)
    const knowsKeys = visit.platform === 'keyed' || visit.platform === 'both'
    const isRepeat = knowsKeys && this.#bookings.has(visit.jobId)
    switch (answer) {
      case 'books':
        this.#enter(visit, isRepeat)
        return BOOKED
      case 'booksUnheard':
        this.#enter(visit, isRepeat)
        return UNKNOWN
      case 'unheard':
        return UNKNOWN
      case 'throttles': {
        const retryAfterMs = this.#dice.pick([0, 0, 300, 1_700])
        return { ...NOT_SENT, code: 'busy', http: 429, retryAfterMs }
      }
      case 'stumbles':
        return { ...NOT_SENT, code: 'overload', http: 503, retryAfterMs: this.#dice.pick([0, 400]) }
      case 'isEarly':
        return { ...NOT_SENT, code: 'not_yet_open' }
      case 'isMuddled':
        return { ...NOT_SENT, code: 'glitch' }
      case 'refusesHold':
        return { ...NOT_SENT, code: 'sold_out', http: 409, isUnsent: true }
      case 'isWordy':
        return { ...NOT_SENT, code: 'Ann is too young', http: 422 }
      case 'isFull':
        // Whoever has the key of a booking is shown that booking.
        return isRepeat ? BOOKED : { ...NOT_SENT, code: 'sold_out', http: 409 }
    }
  }

  #enter(visit: Visit, isRepeat: boolean): void {
    const { jobId } = visit
    visit.hasBooked = true
    if (this.#bookings.has(jobId) && !isRepeat)
      broken('booked-once', `job ${jobId} is booked twice`)
    this.#bookings.add(jobId)
  }
}

/** How likely each answer of a booking site is. `isMuddled` is unknown by the taxonomy of two sites. */
const ANSWERS = {
  books: 36,
  booksUnheard: 16,
  unheard: 8,
  throttles: 14,
  stumbles: 10,
  isEarly: 6,
  isMuddled: 5,
  isFull: 9,
  refusesHold: 4,
  isWordy: 5,
} as const
