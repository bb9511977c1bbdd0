import type { Caller, JobId } from '../encoding/ids.ts'
import { compareSessions, type SessionKey, sessionId } from './session-order.ts'

/** The stored facts about a session. */
export interface SessionRecord extends SessionKey {
  /** The operator's time, else that of the first job (SESSION-9). */
  readonly opensAt: number
  /** True if an operator has set the time. The time of a first job may still be moved (SESSION-11). */
  readonly isOperators: boolean
}

/** A user's place in a session, held by a job that is live, has booked, or may have booked. */
export interface Seat extends SessionKey {
  /** Stands for the user without naming them; see `sessionUser`. */
  readonly seat: string
  /** The caller that the user belongs to; null in old rows, from before each caller had its own users. */
  readonly caller: Caller | null
  readonly jobId: JobId
}

interface Session {
  record: SessionRecord
  /** By seat, then by caller. */
  readonly seats: Map<string, Map<Caller | null, JobId>>
  live: number
}

/**
 * The known sessions: when each opens, and its taken places. A user has at most one place (SESSION-10). A session
 * is kept until `forgetBefore` removes it. So a late job gets the next rank, and a user who has booked is still
 * known.
 */
export class SessionTable {
  readonly #sessions = new Map<string, Session>()

  opensAt(key: SessionKey): number | null {
    return this.#sessions.get(sessionId(key))?.record.opensAt ?? null
  }

  /** True once an operator has set when it opens. */
  isOperators(key: SessionKey): boolean {
    return this.#sessions.get(sessionId(key))?.record.isOperators ?? false
  }

  setOpening(
    { platform, orgRef, eventId }: SessionKey,
    opensAt: number,
    isOperators: boolean,
  ): SessionRecord {
    const id = sessionId({ platform, orgRef, eventId })
    const record = { platform, orgRef, eventId, opensAt, isOperators }
    const session = this.#sessions.get(id)
    if (session === undefined) this.#sessions.set(id, { record, seats: new Map(), live: 0 })
    else session.record = record
    return record
  }

  /** The job that holds a place for this caller's user; for a null caller, for any caller's user (SESSION-10). */
  holder(key: SessionKey, seat: string, caller: Caller | null): JobId | null {
    const held = this.#sessions.get(sessionId(key))?.seats.get(seat)
    if (held === undefined) return null
    if (caller !== null) return held.get(caller) ?? held.get(null) ?? null
    return [...held.values()].sort()[0] ?? null
  }

  /** Releases the place of a job that has ended; null if it holds none. */
  release(key: SessionKey, jobId: JobId): Seat | null {
    const { platform, orgRef, eventId } = key
    for (const [seat, held] of this.#sessions.get(sessionId(key))?.seats ?? []) {
      for (const [caller, holder] of held) {
        if (holder !== jobId) continue
        const freed = { platform, orgRef, eventId, seat, caller, jobId }
        this.#free(freed)
        return freed
      }
    }
    return null
  }

  /** Records the place of a job. An ended job that has booked keeps its place but is not counted as live. */
  take({ seat, caller, jobId, ...key }: Seat, isLive: boolean): void {
    const session = this.#sessions.get(sessionId(key))
    if (session === undefined) return
    const held = session.seats.get(seat)
    if (held === undefined) session.seats.set(seat, new Map([[caller, jobId]]))
    else held.set(caller, jobId)
    if (isLive) session.live++
  }

  /** Records the end of a job. A job that has booked, or may have, keeps its place. */
  leave(place: Seat, mayBeBooked: boolean): void {
    const session = this.#sessions.get(sessionId(place))
    if (session === undefined) return
    session.live--
    if (!mayBeBooked) this.#free(place)
  }

  /**
   * Forgets the sessions that opened before a time and have no live job. Returns them in key order, so that a
   * restart changes nothing about it.
   */
  forgetBefore(opensAt: number): { record: SessionRecord; taken: readonly Seat[] }[] {
    const forgotten: { record: SessionRecord; taken: readonly Seat[] }[] = []
    for (const [id, { record, seats, live }] of this.#sessions) {
      if (live > 0 || record.opensAt >= opensAt) continue
      this.#sessions.delete(id)
      forgotten.push({ record, taken: seatsOf(record, seats) })
    }
    return forgotten.sort((a, b) => compareSessions(a.record, b.record))
  }

  /** Returns a test if any session of a dispatch key is known. */
  hasKey(): (key: Pick<SessionKey, 'platform' | 'orgRef'>) => boolean {
    const keys = new Set(this.records().map(keyId))
    return (key) => keys.has(keyId(key))
  }

  /** All sessions, in no particular order. */
  records(): SessionRecord[] {
    return [...this.#sessions.values()].map(({ record }) => record)
  }

  #free({ seat, caller, jobId, ...key }: Seat): void {
    const seats = this.#sessions.get(sessionId(key))?.seats
    const held = seats?.get(seat)
    if (held?.get(caller) !== jobId) return
    held.delete(caller)
    if (held.size === 0) seats?.delete(seat)
  }
}

/** In an order that does not depend on who came first. */
function seatsOf(
  { platform, orgRef, eventId }: SessionKey,
  seats: ReadonlyMap<string, ReadonlyMap<Caller | null, JobId>>,
): Seat[] {
  const all: Seat[] = []
  for (const [seat, held] of seats) {
    for (const [caller, jobId] of held) all.push({ platform, orgRef, eventId, seat, caller, jobId })
  }
  return all.sort((a, b) => (a.jobId < b.jobId ? -1 : 1))
}

function keyId({ platform, orgRef }: Pick<SessionKey, 'platform' | 'orgRef'>): string {
  return JSON.stringify([platform, orgRef])
}
