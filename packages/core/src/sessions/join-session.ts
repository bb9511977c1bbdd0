import type { CborMap } from '../encoding/cbor.ts'
import type { Caller } from '../encoding/ids.ts'
import { isoUtc } from '../encoding/iso-utc.ts'
import { KINDS } from '../enqueue/kinds.ts'
import { FairleadError, invalidParams } from '../errors.ts'
import type { Job } from '../market/job.ts'
import type { Market } from '../market/market.ts'
import { advanceSessions } from '../outcome/end-attempt.ts'
import type { DispatchJob } from './dispatch-job.ts'
import { type SessionKey, type SessionUser, sessionUser } from './session-order.ts'
import type { SessionRecord } from './session-table.ts'

/** The facts of a registration about its session. */
export interface SessionFacts extends SessionKey, SessionUser {
  readonly scheduledTime: number
  /** An operator may name another time than that of the session, and a time in the past. */
  readonly isOperators: boolean
}

/** The latest time that has a date form. */
const TIME_MAX = 8_640_000_000_000_000

/** The session facts in a checked payload. */
export function sessionFacts(payload: CborMap, isOperators: boolean): SessionFacts {
  const scheduledTime = Number(payload['scheduled_time'])
  if (scheduledTime > TIME_MAX) {
    throw invalidParams('scheduled_time', 'milliseconds since 1970, before the year 275760')
  }
  const eventId = payload['event_id'] as string
  return {
    platform: payload['provider'] as string,
    orgRef: payload['org_ref'] as string,
    eventId,
    ...sessionUser(payload['user_id'] as string, scheduledTime, eventId),
    scheduledTime,
    isOperators,
  }
}

/**
 * An operator sets when a session opens. The jobs in line move with it, in the same order (SESSION-9). This also
 * works if the session has already opened, but only by its first job's time (SESSION-11).
 */
export function setOpening(market: Market, key: SessionKey, opensAt: number): SessionRecord {
  if (!Number.isSafeInteger(opensAt) || opensAt < 0 || opensAt > TIME_MAX) {
    throw invalidParams('opens_at', 'milliseconds since 1970, before the year 275760')
  }
  const before = market.seats.opensAt(key)
  const isOperators = market.seats.isOperators(key)
  if (before !== null && before !== opensAt) {
    if (isOperators) refuseOpen(market, { ...key, scheduledTime: before })
    refuseOver(market, 'opens_at', opensAt)
    moveLine(market, { ...key, scheduledTime: before }, opensAt)
  }
  const record = market.seats.setOpening(key, opensAt, true)
  market.touch.session.record(record)
  return record
}

/** Ranks that an operator's opening has given never move. */
function refuseOpen({ sessions }: Market, group: SessionKey & { scheduledTime: number }): void {
  if (!sessions.isOpen(group)) return
  throw new FairleadError(
    'InvalidState',
    `the session has opened at ${isoUtc(group.scheduledTime)} and those in line have their ranks; it cannot be moved any more`,
    { opensAt: group.scheduledTime },
  )
}

/** A registration whose session opened that long ago would end at once (TTL-1). */
function refuseOver({ policy, nowMs }: Market, field: string, opensAt: number): void {
  const lifeSecs = KINDS.registration.ttlAbsSecs(policy)
  if (lifeSecs === null || opensAt + 1_000 * lifeSecs > nowMs) return
  throw invalidParams(
    field,
    `a time less than ${lifeSecs} s ago: so long after its opening a registration ends, and this session is over`,
  )
}

function moveLine(
  market: Market,
  from: SessionKey & { readonly scheduledTime: number },
  opensAt: number,
): void {
  const moved = market.sessions.move(from, opensAt)
  if (moved.length === 0) return
  // The lives of these jobs end relative to the opening.
  market.due.ttlAbs.rebuild()
  for (const { entry } of moved) {
    market.emit({ type: 'jobRescheduled', at: market.nowMs, jobId: entry.id, opensAt })
  }
}

/** Refuses a registration that its session does not admit, without changing anything. */
export function checkSession(
  market: Market,
  facts: SessionFacts,
  caller: Caller,
  ttlAbsSecs: number | null = null,
): void {
  const { scheduledTime, isOperators, seat } = facts
  const opensAt = market.seats.opensAt(facts)
  const { sessions, sharedUsers } = market.policy.signup
  if (!isOperators) {
    if (opensAt === null && sessions === 'defined_only') {
      throw invalidParams('event_id', 'a session that an operator has opened; there is none yet')
    }
    if (opensAt !== null && opensAt !== scheduledTime) {
      throw invalidParams(
        'scheduled_time',
        `${opensAt} (${isoUtc(opensAt)}), when the session opens`,
      )
    }
    if (opensAt === null && scheduledTime < market.nowMs) {
      throw invalidParams(
        'scheduled_time',
        'now or a time to come; only a session that is known may be open',
      )
    }
  }
  if (ttlAbsSecs === null) refuseOver(market, 'scheduled_time', scheduledTime)
  const jobId = market.seats.holder(facts, seat, sharedUsers ? null : caller)
  if (jobId === null) return
  throw new FairleadError(
    'IdempotencyConflict',
    'user_id: this user has a place in the session already; look at that job, or cancel it first',
    { field: 'user_id', jobId },
  )
}

/** Adds a checked registration to its session. */
export function joinSession(
  market: Market,
  { id, enqueueSeq: seq, caller }: Pick<Job, 'id' | 'enqueueSeq' | 'caller'>,
  facts: SessionFacts,
): DispatchJob {
  const { platform, orgRef, eventId, tieBreaker, seat, scheduledTime, isOperators } = facts
  advanceSessions(market)
  if (market.seats.opensAt(facts) === null) {
    market.touch.session.record(market.seats.setOpening(facts, scheduledTime, isOperators))
  }
  const asked = { id, seq, platform, orgRef, eventId, tieBreaker, seat, scheduledTime }
  const job = market.sessions.join(asked)
  market.seats.take({ platform, orgRef, eventId, seat, caller, jobId: id }, true)
  return job
}
