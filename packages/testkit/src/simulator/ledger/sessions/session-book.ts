import type { JobId, LeaseId, Policy } from '@fairlead/core'
import { type PlatformPolicy, platformPolicy } from '@fairlead/core/internal'
import { broken } from '../../violation.ts'
import type { Book, JobEntry, LeaseEntry } from '../book.ts'
import type { Details } from '../journal/journal-reader.ts'
import {
  isThrottle,
  registrationCode,
  type Said,
  type Verdict,
  verdictOf,
} from '../rules/own-attempts.ts'
import { nextSend } from './next-send.ts'
import { OrgAccount } from './org-account.ts'
import {
  isBefore,
  type Registration,
  readyFrom,
  registrationOf,
  windowEnd,
} from './registration.ts'

interface SessionEntry {
  opensAt: number
  /** An operator has said so. */
  isOperators: boolean
  /** Live, or booked. */
  readonly places: Map<string, JobId>
}

/**
 * In so many rounds a dispatch key may be passed over by one and the same other. Once would do, but for what
 * comes and goes between two rounds and is not seen here.
 */
const PASSED_MAX = 3

interface GroupEntry {
  nextRank: number
  isOpen: boolean
}

/** The journal says that somebody was sent. */
export interface SendEntry {
  readonly leaseId: LeaseId
  readonly at: number
  readonly details: Details
  /** Whether anybody may take the job now. */
  readonly fits: (other: JobEntry) => boolean
  /** Height of the round. */
  readonly round: number
}

/** How the attempt of a registration ended: who says so, and what. */
export interface AttemptEnd {
  readonly at: number
  readonly lease: LeaseEntry
  readonly said: Said | null
}

/**
 * The registrations as the journal tells them: who is in which session, with which rank, what each
 * dispatch key has sent and may send, and what must become of every attempt.
 */
export class SessionBook {
  readonly #book: Book
  readonly jobs = new Map<JobId, Registration>()
  readonly orgs = new Map<string, OrgAccount>()
  readonly sessions = new Map<string, SessionEntry>()
  /** Sessions with times of an operator. */
  readonly operated = new Set<string>()
  readonly #groups = new Map<string, GroupEntry>()
  /** Everybody who ever had a place, whatever became of it. */
  readonly #everPlaced = new Map<string, number>()
  /** Leases on which somebody looks only. */
  readonly #lookups = new Set<LeaseId>()
  /** Those who have moved, until their session says so. */
  readonly #moved: Registration[] = []

  constructor(book: Book) {
    this.#book = book
  }

  policyOf(platform: string): PlatformPolicy {
    return platformPolicy(platform, this.#book.policy.sessions.platforms)
  }

  /** A registration whose job lives. */
  of({ facts }: JobEntry): Registration | null {
    return this.jobs.get(facts.id) ?? null
  }

  /** The code of a failed attempt as it is kept: no word of the site's own (FAIL-5). */
  keptCode({ facts }: JobEntry, code: string): string {
    return registrationCode(code, this.policyOf(facts.model ?? ''))
  }

  orgOf(registration: Registration, atMs = 0): OrgAccount {
    const { platform, orgRef } = registration
    const id = JSON.stringify([platform, orgRef])
    const known = this.orgs.get(id)
    if (known !== undefined) return known
    const org = new OrgAccount(registration, this.policyOf(platform), atMs)
    this.orgs.set(id, org)
    return org
  }

  /** Whether the user had a place in the session before, or has: a second sign-up may be refused. */
  hasSignedUp(payload: Details): boolean {
    return (this.#everPlaced.get(placeId(payload)) ?? 0) > 0
  }

  /** A sign-up with this payload may come at the wrong time. */
  isUntimely(payload: Details, nowMs: number): boolean {
    const id = sessionOf(payload)
    const opensAt = this.sessions.get(id)?.opensAt ?? null
    const scheduledTime = payload['scheduled_time'] as number
    if (this.operated.has(id) || this.#isOver(scheduledTime, nowMs)) return true
    return opensAt === null ? scheduledTime < nowMs : scheduledTime !== opensAt
  }

  opensAt(payload: Details): number | null {
    return this.sessions.get(sessionOf(payload))?.opensAt ?? null
  }

  /** SESSION-9, SESSION-10. */
  join(job: JobEntry, payload: Uint8Array, atMs: number): void {
    const registration = registrationOf(job, payload)
    const { scheduledTime, isOperators, userId } = registration
    const { id } = job.facts
    const session = this.sessions.get(sessionId(registration))
    if (!isOperators && session !== undefined && session.opensAt !== scheduledTime) {
      broken('session-place', `job ${id} names another time than its session has`)
    }
    if (!isOperators && session === undefined && scheduledTime < atMs) {
      broken('session-place', `job ${id} opens a session in the past`)
    }
    if (job.facts.ttlAbsSecs === null && this.#isOver(scheduledTime, atMs)) {
      broken('session-place', `job ${id} is for a session that is over`)
    }
    if (isOperators) this.operated.add(sessionId(registration))
    const own = session ?? { opensAt: scheduledTime, isOperators, places: new Map() }
    this.sessions.set(sessionId(registration), own)
    const person = this.#personOf(registration)
    if (own.places.has(person)) broken('session-place', `${userId} has two places in a session`)
    own.places.set(person, id)
    const place = JSON.stringify([sessionId(registration), userId])
    this.#everPlaced.set(place, (this.#everPlaced.get(place) ?? 0) + 1)
    this.jobs.set(id, registration)
    const org = this.orgOf(registration, atMs)
    org.advance(this.policyOf(org.platform), atMs)
    org.jobs.add(registration)
    const group = this.#groupOf(registration)
    if (scheduledTime <= atMs) group.isOpen = true
    if (group.isOpen) this.#rank(registration, group)
  }

  /** Those who wait for a session move with it, before it says so itself (SESSION-9). */
  reschedule(details: Details): void {
    const registration = this.jobs.get(details['jobId'] as JobId)
    if (registration === undefined) broken('transition', 'a job moved that is in no session')
    const { job, rank, attempts, scheduledTime } = registration
    const session = this.sessions.get(sessionId(registration))
    // Only where the first job has said when it opens, and never one that was sent (SESSION-11).
    if (rank !== null && (session?.isOperators !== false || attempts > 0)) {
      broken('session-order', `job ${job.facts.id} moved, and had a rank`)
    }
    if (scheduledTime !== session?.opensAt) {
      broken('session-place', `job ${job.facts.id} moved, and had a time of its own`)
    }
    registration.rank = null
    registration.sendAt = null
    registration.scheduledTime = details['opensAt'] as number
    this.#moved.push(registration)
  }

  setOpening(details: Details, atMs: number): void {
    const { platform, orgRef, eventId, opensAt } = details
    const id = JSON.stringify([platform, orgRef, eventId])
    this.operated.add(id)
    const session = this.sessions.get(id)
    this.#checkMoved(id, session?.opensAt ?? null, opensAt as number)
    this.openUpTo(atMs)
    if (session === undefined) {
      const places = new Map<string, JobId>()
      this.sessions.set(id, { opensAt: opensAt as number, isOperators: true, places })
    } else {
      session.opensAt = opensAt as number
      session.isOperators = true
    }
  }

  #checkMoved(session: string, from: number | null, to: number): void {
    for (const one of this.#moved.splice(0)) {
      if (sessionId(one) !== session || one.scheduledTime !== to) {
        broken('session-place', `job ${one.job.facts.id} moved elsewhere than its session`)
      }
    }
    if (from === null || from === to) return
    const all = [...this.jobs.values()].filter((one) => sessionId(one) === session)
    const left = all.find((one) => one.scheduledTime === from && one.attempts === 0)
    if (left !== undefined) {
      broken('session-place', `job ${left.job.facts.id} has not moved with its session`)
    }
  }

  /** TTL-1: so long after its opening nobody lives any more. */
  #isOver(scheduledTime: number, nowMs: number): boolean {
    const { absDefaultRegistrationSecs } = this.#book.policy.queue.ttl
    return scheduledTime + 1_000 * absDefaultRegistrationSecs <= nowMs
  }

  /** Groups whose time has come: those who wait get their ranks (SESSION-4). */
  openUpTo(atMs: number): void {
    const due = [...this.jobs.values()].filter(
      ({ rank, scheduledTime }) => rank === null && scheduledTime <= atMs,
    )
    due.sort((a, b) => (isBefore(a, b) ? -1 : 1))
    for (const registration of due) {
      const group = this.#groupOf(registration)
      group.isOpen = true
      this.#rank(registration, group)
    }
  }

  /** Somebody is sent, to book or to look: was it the turn of this one, and allowed (DISPATCH-2 to 5)? */
  send(job: JobEntry, entry: SendEntry): void {
    const { leaseId, at: atMs, details } = entry
    const registration = this.jobs.get(job.facts.id)
    if (registration === undefined) broken('rows', `job ${job.facts.id} is in no session`)
    const org = this.orgOf(registration)
    const isLookup = registration.lookupUntil !== null
    const { id } = job.facts
    if (details['task'] !== (isLookup ? 'lookup' : 'book')) {
      broken('attempt', `job ${id} was sent to ${String(details['task'])}`)
    }
    if (details['rank'] !== registration.rank) {
      broken(
        'session-order',
        `job ${id} has rank ${registration.rank}, not ${String(details['rank'])}`,
      )
    }
    const refusal = org.refusal(this.policyOf(org.platform), atMs, isLookup)
    if (refusal !== null) broken('session-budget', `job ${id} was sent, but ${refusal}`)
    this.#passOver(org, entry)
    if (isLookup) {
      if ((registration.retryAt ?? atMs) > atMs) broken('attempt', `job ${id} is looked for early`)
      this.#lookups.add(leaseId)
    } else {
      this.#sendToBook(registration, org, entry)
      registration.lastAttempt = leaseId
    }
    registration.firstSentAt ??= atMs
    registration.sentAt = atMs
    registration.retryAt = null
    org.inFlight++
  }

  isLookup(leaseId: LeaseId): boolean {
    return this.#lookups.has(leaseId)
  }

  /** What must become of a registration whose attempt has ended; null where it is none. */
  endAttempt(job: JobEntry, end: AttemptEnd): Verdict | null {
    const registration = this.jobs.get(job.facts.id)
    if (registration === undefined) return null
    const { at, lease } = end
    const org = this.orgOf(registration)
    const policy = this.policyOf(org.platform)
    const said = end.said && { ...end.said, code: registrationCode(end.said.code, policy) }
    const isLookup = this.#lookups.has(lease.id)
    const { sentAt, isCancelNoted, isUnknown, lookupUntil } = registration
    if (isThrottle(said)) {
      org.throttle(policy, { at, sentAt: sentAt ?? 0, waitMs: said?.retryAfterMs ?? 0 })
    }
    org.inFlight--
    registration.sentAt = null
    const wasUnknown = isUnknown || lookupUntil !== null
    const facts = { policy, isLookup, isAcked: lease.acked, isCancelNoted, wasUnknown }
    return this.#apply(registration, verdictOf(said, facts), at)
  }

  /** A cancel that came when nothing was in flight, or that waits for what is. */
  noteCancel(job: JobEntry, atMs: number): void {
    const registration = this.jobs.get(job.facts.id)
    if (registration === undefined) broken('transition', `job ${job.facts.id} has no session`)
    registration.isCancelNoted = true
    if (registration.sentAt === null && registration.lookupUntil === null) {
      this.#wantLookup(registration, atMs)
    }
    job.notBefore = registration.retryAt
  }

  /** It has ended. Who has booked, or may have, keeps the place. */
  end(job: JobEntry, status: string, reason: string | null): void {
    const registration = this.jobs.get(job.facts.id)
    if (registration === undefined) return
    this.jobs.delete(job.facts.id)
    const org = this.orgOf(registration)
    org.leave(registration)
    if (registration.sentAt !== null) org.inFlight--
    const isOpen = status === 'EXPIRED' && this.#isOutcomeOpen(registration)
    if (status !== 'COMPLETED' && reason !== 'outcome_unknown' && !isOpen) {
      this.sessions.get(sessionId(registration))?.places.delete(this.#personOf(registration))
    }
  }

  /** SESSION-10. */
  #personOf({ job, userId }: Registration): string {
    const { sharedUsers } = this.#book.policy.signup
    return sharedUsers ? userId : JSON.stringify([job.facts.caller, userId])
  }

  #isOutcomeOpen({ isUnknown, lookupUntil, sentAt, lastAttempt }: Registration): boolean {
    const lease = lastAttempt === null ? undefined : this.#book.leases.get(lastAttempt)
    return isUnknown || lookupUntil !== null || (sentAt !== null && lease?.acked === true)
  }

  /** When its session gives it up, if nothing happens before (ATTEMPT-4, ATTEMPT-9). */
  givenUpAt(registration: Registration): number {
    const { lookupUntil, lookupSince, retryAt, sentAt, platform } = registration
    if (sentAt !== null) return Number.POSITIVE_INFINITY
    if (lookupUntil !== null) return Math.max(lookupSince, lookupUntil + 1)
    if (retryAt === null) return Number.POSITIVE_INFINITY
    return windowEnd(registration, this.policyOf(platform)) + 1
  }

  /** A session is forgotten after its horizon, and with no one alive in it (SESSION-10). */
  forget(session: string, { queue }: Policy, atMs: number): void {
    const known = this.sessions.get(session)
    if (known === undefined) broken('rows', `session ${session} is forgotten and never was`)
    if (known.opensAt >= atMs - 1_000 * queue.ttl.gcHorizonSecs) {
      broken('session-place', `session ${session} is forgotten before its time`)
    }
    for (const registration of this.jobs.values()) {
      if (sessionId(registration) === session) {
        broken('session-place', `session ${session} is forgotten with somebody in it`)
      }
    }
    this.sessions.delete(session)
    for (const id of this.#groups.keys()) {
      if ((JSON.parse(id) as unknown[])[0] === session) this.#groups.delete(id)
    }
  }

  /** Where few are there to send, dispatch keys take turns, too: none is starved (DISPATCH-5). */
  #passOver(served: OrgAccount, { at, round, fits }: SendEntry): void {
    served.passedBy.clear()
    const name = JSON.stringify([served.platform, served.orgRef])
    for (const [key, org] of this.orgs) {
      if (org === served || org.jobs.size === 0) continue
      const policy = this.policyOf(org.platform)
      const isAble = org.peekRefusal(policy, at, false) === null
      if (!isAble || nextSend(org, { policy, atMs: at, fits }) === null) {
        org.passedBy.clear()
        continue
      }
      const rounds = org.passedBy.get(name) ?? new Set()
      org.passedBy.set(name, rounds.add(round))
      if (rounds.size > PASSED_MAX) {
        broken('session-turns', `${key} could go, and ${name} went ${rounds.size} rounds running`)
      }
    }
  }

  #sendToBook(
    registration: Registration,
    org: OrgAccount,
    { at: atMs, fits, round }: Pick<SendEntry, 'at' | 'fits' | 'round'>,
  ): void {
    const { eventId, job } = registration
    const { id } = job.facts
    const policy = this.policyOf(org.platform)
    if (readyFrom(registration) > atMs) {
      broken('session-order', `job ${id} was sent before its time, ${readyFrom(registration)}`)
    }
    if (org.spacedAt(policy, eventId) > atMs) {
      broken('session-budget', `job ${id} was sent too close behind the one before it`)
    }
    const passed = org.passedIn(round)
    const due = nextSend(org, { policy, atMs, fits, passed })
    const dueId = due?.registration.job.facts.id
    if (due?.registration.eventId !== eventId) {
      broken(
        'session-turns',
        `${eventId} was served, it was the turn of ${due?.registration.eventId}`,
      )
    }
    if (dueId !== id) broken('session-order', `job ${id} was sent before ${dueId} of its session`)
    registration.attempts++
    org.take(eventId, atMs)
    if (policy.weights !== null) org.bookTurn(policy.weights, due.sessions, eventId)
  }

  #apply(registration: Registration, verdict: Verdict, atMs: number): Verdict {
    if (verdict.type === 'looks') {
      this.#wantLookup(registration, atMs)
      if (verdict.waitMs > 0) registration.retryAt = atMs + verdict.waitMs
      return verdict
    }
    registration.lookupUntil = null
    if (verdict.type === 'ends') return verdict
    const policy = this.policyOf(registration.platform)
    const { backoffMs } = policy
    const wait = backoffMs[Math.min(registration.attempts, backoffMs.length) - 1] ?? 0
    const retryAt = atMs + Math.max(wait, verdict.retryAfterMs)
    registration.isUnknown = verdict.isUnknown
    if (retryAt > windowEnd(registration, policy)) {
      return { type: 'ends', status: 'FAILED', reason: reasonOf(registration) }
    }
    registration.retryAt = retryAt
    return verdict
  }

  #wantLookup(registration: Registration, atMs: number): void {
    registration.isUnknown = true
    registration.retryAt = null
    registration.lookupUntil ??= atMs + this.policyOf(registration.platform).windowMs
    registration.lookupSince = atMs
  }

  #rank(registration: Registration, group: GroupEntry): void {
    registration.rank = group.nextRank++
    const { minSpacingMs } = this.policyOf(registration.platform)
    registration.sendAt = registration.scheduledTime + registration.rank * minSpacingMs
  }

  #groupOf(registration: Registration): GroupEntry {
    const id = JSON.stringify([sessionId(registration), registration.scheduledTime])
    let group = this.#groups.get(id)
    if (group === undefined) {
      group = { nextRank: 0, isOpen: false }
      this.#groups.set(id, group)
    }
    return group
  }
}

/** Why a registration fails whose time is over. */
export function reasonOf({ isUnknown }: Registration): string {
  return isUnknown ? 'outcome_unknown' : 'retry_window_exhausted'
}

function sessionId({ platform, orgRef, eventId }: Registration): string {
  return JSON.stringify([platform, orgRef, eventId])
}

function placeId(payload: Details): string {
  return JSON.stringify([sessionOf(payload), payload['user_id']])
}

function sessionOf(payload: Details): string {
  return JSON.stringify([payload['provider'], payload['org_ref'], payload['event_id']])
}
