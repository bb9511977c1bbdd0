import type { JobId } from '../ids.ts'
import { compareSessions, type SessionKey } from './session-order.ts'

/** What is stored of a session. */
export interface SessionRecord extends SessionKey {
  /** The operator's, else that of the first job (SESSION-9). */
  readonly opensAt: number
}

/** Somebody's place in a session: a job that is alive, or one that has booked or may have. */
export interface Seat extends SessionKey {
  /** Stands for the user, and does not name him; see `seatOf`. */
  readonly seat: string
  readonly jobId: JobId
}

interface Session {
  record: SessionRecord
  readonly seats: Map<string, JobId>
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

  setOpening({ platform, orgRef, eventId }: SessionKey, opensAt: number): SessionRecord {
    const id = sessionId({ platform, orgRef, eventId })
    const record = { platform, orgRef, eventId, opensAt }
    const session = this.#sessions.get(id)
    if (session === undefined) this.#sessions.set(id, { record, seats: new Map(), live: 0 })
    else session.record = record
    return record
  }

  /** The job by which somebody has a place already. */
  holder(key: SessionKey, seat: string): JobId | null {
    return this.#sessions.get(sessionId(key))?.seats.get(seat) ?? null
  }

  /** Gives up the place that a job holds and no longer lives for; null if it holds none. */
  release(key: SessionKey, jobId: JobId): Seat | null {
    const { platform, orgRef, eventId } = key
    const seats = this.#sessions.get(sessionId(key))?.seats
    const held = [...(seats ?? [])].find(([, holder]) => holder === jobId)
    if (seats === undefined || held === undefined) return null
    seats.delete(held[0])
    return { platform, orgRef, eventId, seat: held[0], jobId }
  }

  /** A job has joined; one of an earlier run that has booked only keeps its place. */
  take({ seat, jobId, ...key }: Seat, isLive: boolean): void {
    const session = this.#sessions.get(sessionId(key))
    if (session === undefined) return
    session.seats.set(seat, jobId)
    if (isLive) session.live++
  }

  /** A job has ended. Who has booked, or may have, keeps the place. */
  leave({ seat, jobId, ...key }: Seat, mayBeBooked: boolean): void {
    const session = this.#sessions.get(sessionId(key))
    if (session === undefined) return
    session.live--
    if (!mayBeBooked && session.seats.get(seat) === jobId) session.seats.delete(seat)
  }

  /**
   * Forgets the sessions that opened before a time and have no live job, and says which: in the order of
   * their keys, so that a restart changes nothing about it.
   */
  forgetBefore(opensAt: number): { record: SessionRecord; taken: readonly string[] }[] {
    const forgotten: { record: SessionRecord; taken: readonly string[] }[] = []
    for (const [id, { record, seats, live }] of this.#sessions) {
      if (live > 0 || record.opensAt >= opensAt) continue
      this.#sessions.delete(id)
      forgotten.push({ record, taken: [...seats.keys()].sort() })
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
}

function keyId({ platform, orgRef }: Pick<SessionKey, 'platform' | 'orgRef'>): string {
  return JSON.stringify([platform, orgRef])
}

function sessionId({ platform, orgRef, eventId }: SessionKey): string {
  return JSON.stringify([platform, orgRef, eventId])
}
