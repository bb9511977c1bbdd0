import type { Caller, JobId, Market, SessionKey } from '@fairlead/core'
import {
  allowedInFlight,
  compareSessions,
  type DispatchJob,
  type DispatchKey,
  OrgDispatch,
  type SessionRecord,
} from '@fairlead/core/internal'

/** Facts about a registration in memory. Its rank and scheduled time can still change. */
export interface RegistrationFacts extends SessionKey {
  readonly jobId: JobId
  /** Number of acceptance. */
  readonly seq: number
  readonly caller: Caller
  readonly scheduledTime: number
  readonly queuedAt: number
  /** Null until the session opens. */
  readonly rank: number | null
}

/** A registration that has not ended. */
export interface SessionEntry {
  readonly jobId: JobId
  readonly caller: Caller
  readonly queuedAt: number
  /** Null until the session opens. */
  readonly rank: number | null
  readonly sendAt: number | null
  readonly attempts: number
  /** When it is retried, while it waits for a retry. */
  readonly retryAt: number | null
  readonly state: 'waiting' | 'in_flight' | 'lookup'
}

/** The current send budget of a dispatch key. */
export interface KeyFigures {
  readonly platform: string
  readonly orgRef: string
  readonly inFlight: number
  readonly inFlightMax: number
  /** Sends per second: the current rate and the configured one. */
  readonly rate: number
  readonly rateConfigured: number
  /** The size and level of the token bucket. */
  readonly burst: number
  readonly tokens: number
  /** The distance between sends of one session. */
  readonly spacingMs: number
  readonly pausedUntil: number | null
}

/** A session with counts of its registrations in memory. */
export interface SessionCounts extends SessionRecord {
  readonly waiting: number
  readonly inFlight: number
}

/** In key order. */
export function sessionCounts(market: Market): SessionCounts[] {
  const counts = new Map<string, { waiting: number; inFlight: number }>()
  for (const { entry, sentAt } of market.sessions.jobs()) {
    const id = idOf(entry)
    const known = counts.get(id) ?? { waiting: 0, inFlight: 0 }
    if (sentAt === null) known.waiting++
    else known.inFlight++
    counts.set(id, known)
  }
  return market.seats
    .records()
    .sort(compareSessions)
    .map((record) => ({ ...record, ...(counts.get(idOf(record)) ?? { waiting: 0, inFlight: 0 }) }))
}

/** The registrations of a session that have not ended, in its order. */
export function sessionEntries(market: Market, key: SessionKey): SessionEntry[] {
  return market.sessions
    .line(key)
    .flatMap(({ id }) => entryOf(market, market.sessions.job(id) as DispatchJob))
}

/** All dispatch keys that were used, in order. */
export function keyFigures(market: Market): KeyFigures[] {
  return market.sessions.orgs().map((org) => figuresOf(org, market.nowMs))
}

export function keyFiguresOf(market: Market, { platform, orgRef }: DispatchKey): KeyFigures {
  const used = market.sessions
    .orgs()
    .find((org) => org.platform === platform && org.orgRef === orgRef)
  const org =
    used ?? new OrgDispatch({ platform, orgRef }, market.sessions.policyOf(platform), market.nowMs)
  return figuresOf(org, market.nowMs)
}

export function registrationFacts(market: Market, jobId: JobId): RegistrationFacts | null {
  const job = market.jobs.get(jobId)
  if (job === undefined || job.session === null) return null
  const { platform, orgRef, eventId, scheduledTime, queuedAt, rank } = job.session.entry
  const { caller, enqueueSeq: seq } = job
  return { jobId, seq, caller, platform, orgRef, eventId, scheduledTime, queuedAt, rank }
}

/** All registrations that have not ended. */
export function allRegistrations(market: Market): RegistrationFacts[] {
  return [...market.sessions.jobs()].flatMap(
    ({ entry }) => registrationFacts(market, entry.id) ?? [],
  )
}

function entryOf({ jobs }: Market, job: DispatchJob): SessionEntry[] {
  const { entry, attempts, retryAt, sentAt, lookupUntil } = job
  const caller = jobs.get(entry.id)?.caller
  if (caller === undefined) return []
  const state = lookupUntil !== null ? 'lookup' : sentAt === null ? 'waiting' : 'in_flight'
  const { id: jobId, queuedAt, rank, sendAt } = entry
  return [{ jobId, caller, queuedAt, rank, sendAt, attempts, retryAt, state }]
}

const TOKEN = 1_000_000

function figuresOf(org: OrgDispatch, nowMs: number): KeyFigures {
  const { platform, orgRef, policy, inFlight } = org
  // A copy as of now: looking at a budget must not change it.
  const { budget } = org.state(nowMs)
  return {
    platform,
    orgRef,
    inFlight,
    inFlightMax: allowedInFlight(budget),
    rate: budget.rate / 1_000,
    rateConfigured: policy.maxRpsMilli / 1_000,
    burst: policy.burst,
    tokens: Math.floor(budget.level / TOKEN),
    spacingMs: Math.ceil(budget.spacing10 / 10),
    pausedUntil: (budget.pausedUntil ?? 0) > nowMs ? budget.pausedUntil : null,
  }
}

function idOf({ platform, orgRef, eventId }: SessionKey): string {
  return JSON.stringify([platform, orgRef, eventId])
}
