import { platformPolicy } from '../admit/platform-policy.ts'
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

/** A platform's own figure, else its built-in one, else the given default, else 50 (SESSION-5). */
export function minSpacingMs(platform: string, given: Readonly<Record<string, number>>): number {
  const rows = Object.entries(given).map(([name, spacing]) => [name, { minSpacingMs: spacing }])
  return platformPolicy(platform, Object.fromEntries(rows)).minSpacingMs
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

/** A group that has opened, and how far its ranks have come; stored, so that no rank is given twice. */
export interface OpenGroup extends SessionKey {
  readonly scheduledTime: number
  readonly nextRank: number
}

interface Group {
  readonly id: string
  readonly key: SessionKey
  readonly scheduledTime: number
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
  readonly #spacingMs: (platform: string) => number
  readonly #groups = new Map<string, Group>()
  readonly #openings = new LazyHeap<Group>({
    place: 0,
    keyOf: (group) => group.scheduledTime,
    before: (a, b) => a.id < b.id,
  })
  #nowMs = 0

  constructor(spacingMs = (platform: string): number => minSpacingMs(platform, {})) {
    this.#spacingMs = spacingMs
  }

  /** Opens every group whose time has come, and gives who got a rank in each. Time never goes back. */
  advance(nowMs: number): SessionJob[][] {
    this.#nowMs = Math.max(this.#nowMs, nowMs)
    const opened: SessionJob[][] = []
    while (this.nextOpeningAt() <= this.#nowMs) {
      opened.push(this.#open(this.#openings.pop() as Group))
    }
    return opened
  }

  /** Infinite while nobody waits for an opening. */
  nextOpeningAt(): number {
    return this.#openings.topKey()
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
    if (group.isOpen) giveRank(group, job, this.#spacingMs(job.platform))
    else group.waiting.add(job)
    return job
  }

  /** Before the opening the gap closes; afterwards the rank stays empty. */
  cancel(job: SessionJob): void {
    this.#groups.get(groupId(job))?.waiting.delete(job)
  }

  openGroups(): OpenGroup[] {
    return [...this.#groups.values()]
      .filter(({ isOpen }) => isOpen)
      .map(({ key, scheduledTime, nextRank }) => ({ ...key, scheduledTime, nextRank }))
  }

  /** Goes on where another left off: with its open groups and those who had no rank yet. */
  restore(openGroups: readonly OpenGroup[], unranked: readonly SessionJob[]): void {
    for (const { nextRank, ...session } of openGroups) {
      const group = this.#groupFor(session)
      this.#openings.leave(group)
      group.isOpen = true
      group.nextRank = nextRank
    }
    for (const job of unranked) this.#groupFor(job).waiting.add(job)
  }

  #open(group: Group): SessionJob[] {
    const ranked = [...group.waiting].sort(compareInSession)
    group.isOpen = true
    group.waiting = new Set()
    const spacingMs = this.#spacingMs(group.key.platform)
    for (const job of ranked) giveRank(group, job, spacingMs)
    return ranked
  }

  #groupFor(of: SessionKey & { readonly scheduledTime: number }): Group {
    const id = groupId(of)
    let group = this.#groups.get(id)
    if (group === undefined) {
      const { platform, orgRef, eventId, scheduledTime } = of
      group = {
        id,
        key: { platform, orgRef, eventId },
        scheduledTime,
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

function giveRank(group: Group, job: SessionJob, spacingMs: number): void {
  job.rank = group.nextRank++
  job.sendAt = group.scheduledTime + job.rank * spacingMs
}

function groupId(of: SessionKey & { readonly scheduledTime: number }): string {
  return JSON.stringify([of.platform, of.orgRef, of.eventId, of.scheduledTime])
}
