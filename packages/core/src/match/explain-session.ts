import { admitsSend, allowedInFlight, nextTokenAt, settleBudget } from '../admit/dispatch-budget.ts'
import type { Market } from '../market.ts'
import type { DispatchJob } from '../order/dispatch-job.ts'
import { compareInSession, type SessionKey } from '../order/session-order.ts'

/** What a waiting registration waits for in its session (EXPLAIN-9). */
export interface SessionWait extends SessionKey {
  readonly opensAt: number
  /** Null until the session opens. */
  readonly rank: number | null
  readonly sendAt: number | null
  /** Attempts of its dispatch key that are under way, and how many may be. */
  readonly inFlight: number
  readonly inFlightMax: number
  /** Whole tokens of its dispatch key, and when there is one; null where that is not known. */
  readonly tokens: number
  readonly nextTokenAt: number | null
  /** Whether somebody is to look if an earlier attempt has booked. */
  readonly isLookup: boolean
}

/** Why it waits as far as its session and budget go, and until when; null where they let it go. */
export interface SessionGate {
  readonly reason: 'not_open' | 'pacing' | 'backoff' | 'budget' | null
  readonly until: number | null
}

const TOKEN = 1_000_000

export function explainSession(
  { sessions, nowMs }: Market,
  job: DispatchJob,
): { readonly wait: SessionWait; readonly gate: SessionGate; place: number; of: number } {
  const { place, lookupUntil } = job
  const org = sessions.orgOf(job)
  // A copy, as it is now: to look at a budget must not change it.
  const budget = { ...org.budget }
  settleBudget(budget, org.policy, nowMs)
  const tokenAt = nextTokenAt(budget)
  const wait: SessionWait = {
    platform: place.platform,
    orgRef: place.orgRef,
    eventId: place.eventId,
    opensAt: place.scheduledTime,
    rank: place.rank,
    sendAt: place.sendAt,
    inFlight: org.inFlight,
    inFlightMax: allowedInFlight(budget),
    tokens: Math.floor(budget.level / TOKEN),
    nextTokenAt: tokenAt === Infinity ? null : Math.max(tokenAt, nowMs),
    isLookup: lookupUntil !== null,
  }
  const isAdmitted = admitsSend(budget, org.inFlight, nowMs)
  return { wait, gate: gateOf(job, wait, isAdmitted, nowMs), ...placeIn(sessions, job) }
}

function gateOf(
  { place, retryAt, lookupUntil }: DispatchJob,
  { inFlight, inFlightMax, nextTokenAt: tokenAt }: SessionWait,
  isAdmitted: boolean,
  nowMs: number,
): SessionGate {
  if (place.sendAt === null) return { reason: 'not_open', until: place.scheduledTime }
  if (retryAt !== null && retryAt > nowMs) return { reason: 'backoff', until: retryAt }
  if (lookupUntil !== null) return { reason: null, until: null }
  if (retryAt === null && place.sendAt > nowMs) return { reason: 'pacing', until: place.sendAt }
  if (isAdmitted) return { reason: null, until: null }
  // Until an attempt ends nobody knows when there is a place.
  return { reason: 'budget', until: inFlight < inFlightMax ? tokenAt : null }
}

/** Its place among those of its session that wait; counted, because an explanation may take its time. */
function placeIn(sessions: Market['sessions'], job: DispatchJob): { place: number; of: number } {
  const { platform, orgRef, eventId } = job.place
  let place = 1
  let of = 0
  for (const other of sessions.jobs()) {
    const at = other.place
    if (at.eventId !== eventId || at.orgRef !== orgRef || at.platform !== platform) continue
    if (other.sentAt !== null) continue
    of++
    if (compareInSession(at, job.place) < 0) place++
  }
  return { place, of }
}
