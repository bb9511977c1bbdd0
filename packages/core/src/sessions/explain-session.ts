import {
  admitsLookup,
  admitsSend,
  advanceBudget,
  allowedInFlight,
  type DispatchBudget,
  nextTokenAt,
} from '../admit/dispatch-budget.ts'
import type { Market } from '../market/market.ts'
import type { DispatchJob } from './dispatch-job.ts'
import type { OrgDispatch } from './org-dispatch.ts'
import { compareInSession, type SessionKey } from './session-order.ts'

/** The state of the session and budget that a waiting registration waits for (EXPLAIN-9). */
export interface SessionWait extends SessionKey {
  readonly opensAt: number
  /** Null until the session opens. */
  readonly rank: number | null
  readonly sendAt: number | null
  /** Attempts of its dispatch key in flight, and the maximum. */
  readonly inFlight: number
  readonly inFlightMax: number
  /** Whole tokens of its dispatch key, and when it next has one; null if that is not known. */
  readonly tokens: number
  readonly nextTokenAt: number | null
  /** True if the job waits for a lookup of an earlier attempt. */
  readonly isLookup: boolean
}

/** Why its session or budget holds it, and until when; null if they let it go. */
export interface SessionGate {
  readonly reason: 'not_open' | 'pacing' | 'backoff' | 'budget' | null
  readonly until: number | null
}

const TOKEN = 1_000_000

export function explainSession(
  { sessions, nowMs }: Market,
  job: DispatchJob,
): { readonly wait: SessionWait; readonly gate: SessionGate; place: number; of: number } {
  const { entry, lookupUntil } = job
  const org = sessions.orgOf(job)
  const budget = budgetNow(org, nowMs)
  const tokenAt = nextTokenAt(budget)
  const wait: SessionWait = {
    platform: entry.platform,
    orgRef: entry.orgRef,
    eventId: entry.eventId,
    opensAt: entry.scheduledTime,
    rank: entry.rank,
    sendAt: entry.sendAt,
    inFlight: org.inFlight,
    inFlightMax: allowedInFlight(budget),
    tokens: Math.floor(budget.level / TOKEN),
    nextTokenAt: tokenAt === Infinity ? null : Math.max(tokenAt, nowMs),
    isLookup: lookupUntil !== null,
  }
  const reason = gateOf(job, org, budget, nowMs)
  const until = untilOf(reason, job, { ...wait, pausedUntil: budget.pausedUntil })
  return { wait, gate: { reason, until }, ...placeInSession(sessions, job) }
}

/** Returns a function that gives the gate of one waiting job after another, for a caller that counts them all. */
export function sessionGates({
  sessions,
  nowMs,
}: Market): (job: DispatchJob) => SessionGate['reason'] {
  const budgets = new Map<OrgDispatch, DispatchBudget>()
  return (job) => {
    const org = sessions.orgOf(job)
    let budget = budgets.get(org)
    if (budget === undefined) {
      budget = budgetNow(org, nowMs)
      budgets.set(org, budget)
    }
    return gateOf(job, org, budget, nowMs)
  }
}

/** A copy as of now: looking at a budget must not change it. */
function budgetNow({ budget, policy }: OrgDispatch, nowMs: number): DispatchBudget {
  const now = { ...budget }
  advanceBudget(now, policy, nowMs)
  return now
}

function gateOf(
  { entry, retryAt, lookupUntil }: DispatchJob,
  { inFlight, policy }: OrgDispatch,
  budget: DispatchBudget,
  nowMs: number,
): SessionGate['reason'] {
  if (entry.sendAt === null) return 'not_open'
  if (retryAt !== null && retryAt > nowMs) return 'backoff'
  if (lookupUntil !== null) return admitsLookup(budget, inFlight, nowMs) ? null : 'budget'
  if (retryAt === null && entry.sendAt > nowMs) return 'pacing'
  return admitsSend(budget, policy, { inFlight, nowMs }) ? null : 'budget'
}

function untilOf(
  reason: SessionGate['reason'],
  { entry, retryAt, lookupUntil }: DispatchJob,
  {
    inFlight,
    inFlightMax,
    nextTokenAt: tokenAt,
    pausedUntil,
  }: SessionWait & Pick<DispatchBudget, 'pausedUntil'>,
): number | null {
  if (reason === null) return null
  if (reason === 'not_open') return entry.scheduledTime
  if (reason !== 'budget') return reason === 'backoff' ? retryAt : entry.sendAt
  // Until an attempt ends, nobody knows when a slot is free.
  if (inFlight >= inFlightMax) return null
  return lookupUntil === null ? tokenAt : pausedUntil
}

/** Its place among the waiting jobs of its session. It is counted, because an explanation may take its time. */
function placeInSession(
  sessions: Market['sessions'],
  job: DispatchJob,
): { place: number; of: number } {
  const { platform, orgRef, eventId } = job.entry
  let place = 1
  let of = 0
  for (const other of sessions.jobs()) {
    const at = other.entry
    if (at.eventId !== eventId || at.orgRef !== orgRef || at.platform !== platform) continue
    if (other.sentAt !== null) continue
    of++
    if (compareInSession(at, job.entry) < 0) place++
  }
  return { place, of }
}
