import type { Caller, JobId } from '../encoding/ids.ts'
import { compareSessions, type SessionKey, sessionId } from './session-order.ts'

/** What is stored of a session. */
export interface SessionRecord extends SessionKey {
  /** The operator's, else that of the first job (SESSION-9). */
  readonly opensAt: number
  /** An operator has said so; what only the first job has said may still be moved (SESSION-11). */
  readonly isOperators: boolean
}

/** Somebody's place in a session: a job that is alive, or one that has booked or may have. */
export interface Seat extends SessionKey {
  /** Stands for the user, and does not name him; see `seatOf`. */
  readonly seat: string
  /** Whose user it is; null where that was not kept, which was so before callers had users of their own. */
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
 * The sessions that have been heard of: when each of them opens, and who has a place in it. Nobody has
 * two (SESSION-10). A session is kept until it is told to be forgotten, so that a late joiner meets the
 * ranks that were given, and one who has booked is still known.
 */
export class SessionTable {
  readonly #sessions = new Map<string, Session>()

  opensAt(key: SessionKey): number | null {
    return this.#sessions.get(sessionId(key))?.record.opensAt ?? null
  }

  /** True once an operator has said when it opens. */
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

  /** The job by which somebody's user has a place already; with null, by which anybody's has (SESSION-10). */
  holder(key: SessionKey, seat: string, caller: Caller | null): JobId | null {
    const held = this.#sessions.get(sessionId(key))?.seats.get(seat)
    if (held === undefined) return null
    if (caller !== null) return held.get(caller) ?? held.get(null) ?? null
    return [...held.values()].sort()[0] ?? null
  }

  /** Gives up the place that a job holds and no longer lives for; null if it holds none. */
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

  /** A job has joined; one of an earlier run that has booked only keeps its place. */
  take({ seat, caller, jobId, ...key }: Seat, isLive: boolean): void {
    const session = this.#sessions.get(sessionId(key))
    if (session === undefined) return
    const held = session.seats.get(seat)
    if (held === undefined) session.seats.set(seat, new Map([[caller, jobId]]))
    else held.set(caller, jobId)
    if (isLive) session.live++
  }

  /** A job has ended. Who has booked, or may have, keeps the place. */
  leave(place: Seat, mayBeBooked: boolean): void {
    const session = this.#sessions.get(sessionId(place))
    if (session === undefined) return
    session.live--
    if (!mayBeBooked) this.#free(place)
  }

  /**
   * Forgets the sessions that opened before a time and have no live job, and says which: in the order of
   * their keys, so that a restart changes nothing about it.
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

  /** The dispatch keys of which a session is known. */
  hasKey(): (key: Pick<SessionKey, 'platform' | 'orgRef'>) => boolean {
    const keys = new Set(this.records().map(keyId))
    return (key) => keys.has(keyId(key))
  }

  /** All of them, in no order that counts. */
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
