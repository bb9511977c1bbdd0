import { compareAscii, compareText } from '../bytes.ts'
import { sha256Hex } from '../hash.ts'
import type { JobId } from '../ids.ts'
import { isoUtc } from '../iso-utc.ts'
import { LazyHeap } from './lazy-heap.ts'

/** `(provider, org_ref, event_id)` of the request; in code the booking site is the platform. */
export interface SessionKey {
  readonly platform: string
  readonly orgRef: string
  readonly eventId: string
}

export interface SessionRequest extends SessionKey {
  readonly id: JobId
  readonly userId: string
  readonly scheduledTime: number
}

/** One registration in its session. */
export interface SessionJob extends SessionRequest {
  readonly queuedAt: number
  readonly tieBreaker: string
  /** Its place in the group of its scheduled time; null until that time arrives (SESSION-4). */
  rank: number | null
  /** The earliest first attempt. */
  sendAt: number | null
}

/** Distance of first attempts where neither the platform nor the operator says otherwise. */
const BUILT_IN_SPACING_MS: Readonly<Record<string, number>> = {
  default: 50,
  bookeo: 40,
  campminder: 100,
}

/** A platform's own figure, else its built-in one, else the given default, else 50 (SESSION-5). */
export function minSpacingMs(platform: string, given: Readonly<Record<string, number>>): number {
  return (
    own(given, platform) ??
    own(BUILT_IN_SPACING_MS, platform) ??
    own(given, 'default') ??
    (BUILT_IN_SPACING_MS['default'] as number)
  )
}

/** Decides between two who joined in the same millisecond; nobody can choose it (SESSION-3). */
export function tieBreaker(userId: string, scheduledTime: number, eventId: string): string {
  const time = isoUtc(scheduledTime)
  return sha256Hex(`${userId}${time}${eventId}`).slice(0, 16)
}

/** For `sort`: `scheduled_time, queued_at, tie_breaker, job_id`, all ascending (SESSION-2). */
export function compareInSession(a: SessionJob, b: SessionJob): number {
  return (
    a.scheduledTime - b.scheduledTime ||
    a.queuedAt - b.queuedAt ||
    compareAscii(a.tieBreaker, b.tieBreaker) ||
    compareAscii(a.id, b.id)
  )
}

/** For `sort`: sessions part by part, by UTF-8 bytes. */
export function compareSessions(a: SessionKey, b: SessionKey): number {
  return (
    compareText(a.platform, b.platform) ||
    compareText(a.orgRef, b.orgRef) ||
    compareText(a.eventId, b.eventId)
  )
}

interface Group {
  readonly id: string
  readonly scheduledTime: number
  readonly spacingMs: number
  /** Those that wait for the opening; empty afterwards. */
  waiting: Set<SessionJob>
  nextRank: number
  isOpen: boolean
  places: number
}

/**
 * Ranks and send times (SESSION-4). The jobs of a session with one scheduled time are a group. When
 * that time arrives, those who wait get ranks in order; whoever comes later gets the next one. A rank
 * is never given twice and never moves, so a cancellation leaves a gap and nobody is overtaken.
 */
export class SessionRanks {
  readonly #spacings: Readonly<Record<string, number>>
  readonly #groups = new Map<string, Group>()
  readonly #openings = new LazyHeap<Group>({
    place: 0,
    keyOf: (group) => group.scheduledTime,
    before: (a, b) => a.id < b.id,
  })
  #nowMs = 0

  constructor(spacings: Readonly<Record<string, number>> = {}) {
    this.#spacings = spacings
  }

  /** Opens every group whose time has come. Time never goes back. */
  advance(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs)
    for (let group = this.#openings.top(); group !== undefined; group = this.#openings.top()) {
      if (group.scheduledTime > this.#nowMs) break
      this.#openings.pop()
      this.#open(group)
    }
  }

  /** A registration comes in at the latest time seen. */
  join(request: SessionRequest): SessionJob {
    const { userId, scheduledTime, eventId } = request
    const job: SessionJob = {
      ...request,
      queuedAt: this.#nowMs,
      tieBreaker: tieBreaker(userId, scheduledTime, eventId),
      rank: null,
      sendAt: null,
    }
    const group = this.#groupFor(request)
    if (scheduledTime <= this.#nowMs && !group.isOpen) {
      this.#openings.leave(group)
      this.#open(group)
    }
    if (group.isOpen) giveRank(group, job)
    else group.waiting.add(job)
    return job
  }

  /** Before the opening the gap closes; afterwards the rank stays empty. */
  cancel(job: SessionJob): void {
    this.#groups.get(groupId(job))?.waiting.delete(job)
  }

  #open(group: Group): void {
    group.isOpen = true
    for (const job of [...group.waiting].sort(compareInSession)) giveRank(group, job)
    group.waiting = new Set()
  }

  #groupFor(request: SessionRequest): Group {
    const id = groupId(request)
    let group = this.#groups.get(id)
    if (group === undefined) {
      group = {
        id,
        scheduledTime: request.scheduledTime,
        spacingMs: minSpacingMs(request.platform, this.#spacings),
        waiting: new Set(),
        nextRank: 0,
        isOpen: false,
        places: 0,
      }
      this.#groups.set(id, group)
      this.#openings.enter(group)
    }
    return group
  }
}

function giveRank(group: Group, job: SessionJob): void {
  job.rank = group.nextRank++
  job.sendAt = group.scheduledTime + job.rank * group.spacingMs
}

function groupId({ platform, orgRef, eventId, scheduledTime }: SessionRequest): string {
  return JSON.stringify([platform, orgRef, eventId, scheduledTime])
}

function own(table: Readonly<Record<string, number>>, key: string): number | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}
