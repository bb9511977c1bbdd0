import { LazyHeap } from '../collections/lazy-heap.ts'
import { compareAscii } from '../encoding/bytes.ts'
import { sha256Hex } from '../encoding/hash.ts'
import type { JobId } from '../encoding/ids.ts'
import { isoUtc } from '../encoding/iso-utc.ts'
import { compareText } from '../encoding/text.ts'
import { platformPolicy } from '../policy/platform-policy.ts'

/** `(provider, org_ref, event_id)` of the request. The code calls the booking site the platform. */
export interface SessionKey {
  readonly platform: string
  readonly orgRef: string
  readonly eventId: string
}

/** A user as a session knows one: by hashes, so that no state and no log contains the user's id. */
export interface SessionUser {
  /** Decides between two jobs that joined in the same millisecond (SESSION-3). */
  readonly tieBreaker: string
  /** Stands for the user at any time: a user has at most one place in a session (SESSION-10). */
  readonly seat: string
}

export interface SessionRequest extends SessionKey, SessionUser {
  readonly id: JobId
  /** The number of acceptance of the job; it influences no decision. */
  readonly seq?: number
  readonly scheduledTime: number
}

/** One registration in its session. */
export interface SessionJob extends SessionRequest {
  /** Changes if its session moves before it opens (SESSION-9). */
  scheduledTime: number
  readonly queuedAt: number
  /** Its rank in the group of its scheduled time; null until that time comes (SESSION-4). */
  rank: number | null
  /** The earliest time of the first attempt. */
  sendAt: number | null
}

/** The given spacing of a platform, else its built-in one, else the given default, else 50 (SESSION-5). */
export function minSpacingMs(platform: string, given: Readonly<Record<string, number>>): number {
  const rows = Object.entries(given).map(([name, spacing]) => [name, { minSpacingMs: spacing }])
  return platformPolicy(platform, Object.fromEntries(rows)).minSpacingMs
}

/** Decides between two jobs that joined in the same millisecond. No requester can choose it (SESSION-3). */
export function tieBreaker(userId: string, scheduledTime: number, eventId: string): string {
  const time = isoUtc(scheduledTime)
  return sha256Hex(`${userId}${time}${eventId}`).slice(0, 16)
}

/** Equal for all requests of a user for one event, without naming the user. */
function seatOf(userId: string, eventId: string): string {
  return sha256Hex(JSON.stringify([userId, eventId])).slice(0, 16)
}

/** The hashes that stand for a user who asks for an event at a time. */
export function sessionUser(userId: string, scheduledTime: number, eventId: string): SessionUser {
  return {
    tieBreaker: tieBreaker(userId, scheduledTime, eventId),
    seat: seatOf(userId, eventId),
  }
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

/** For `sort`: compares sessions part by part, by UTF-8 bytes. */
export function compareSessions(a: SessionKey, b: SessionKey): number {
  return (
    compareText(a.platform, b.platform) ||
    compareText(a.orgRef, b.orgRef) ||
    compareText(a.eventId, b.eventId)
  )
}

/** A group that has opened, and its next rank. It is stored, so that no rank is given twice. */
export interface OpenGroup extends SessionKey {
  readonly scheduledTime: number
  readonly nextRank: number
}

interface Group {
  readonly id: string
  readonly key: SessionKey
  readonly scheduledTime: number
  /** The jobs that wait for the opening, already in order; empty afterwards. */
  waiting: SessionJob[]
  nextRank: number
  isOpen: boolean
  heapBits: number
}

/**
 * Ranks and send times (SESSION-4). The jobs of a session with one scheduled time are a group. When that time
 * comes, the waiting jobs get ranks in order, and later jobs get the next ones. No rank of a group is given twice,
 * so a cancellation leaves a gap and no job is overtaken.
 */
export class SessionRanks {
  readonly #spacingMs: (platform: string) => number
  readonly #groups = new Map<string, Group>()
  readonly #openings = new LazyHeap<Group>({
    bitPair: 0,
    keyOf: (group) => group.scheduledTime,
    before: (a, b) => a.id < b.id,
  })
  readonly #touch: (group: OpenGroup) => void
  #nowMs = 0

  /** `touch` is called for every open group whose next rank has changed. */
  constructor(
    spacingMs = (platform: string): number => minSpacingMs(platform, {}),
    touch: (group: OpenGroup) => void = () => {},
  ) {
    this.#spacingMs = spacingMs
    this.#touch = touch
  }

  /** Opens every group whose time has come, and returns the jobs that got ranks, by group. Time never goes back. */
  advance(nowMs: number): SessionJob[][] {
    this.#nowMs = Math.max(this.#nowMs, nowMs)
    const opened: SessionJob[][] = []
    while (this.nextOpeningAt() <= this.#nowMs) {
      opened.push(this.#open(this.#openings.pop() as Group))
    }
    return opened
  }

  /** Infinite while no job waits for an opening. */
  nextOpeningAt(): number {
    return this.#openings.topKey()
  }

  /** Adds a registration at the latest time seen. */
  join(request: SessionRequest): SessionJob {
    const job: SessionJob = { ...request, queuedAt: this.#nowMs, rank: null, sendAt: null }
    this.#addToGroup(job)
    return job
  }

  /** True if the jobs of a session with this time have got their ranks. */
  isOpen(group: SessionKey & { readonly scheduledTime: number }): boolean {
    return this.#groups.get(groupId(group))?.isOpen === true
  }

  /** Adds a job that has lost its rank because its session opens at another time (SESSION-11). */
  enter(job: SessionJob): void {
    this.#addToGroup(job)
  }

  /** Moves a group that has not opened to another time, in the same order, and returns its jobs. */
  move(from: SessionKey & { readonly scheduledTime: number }, to: number): SessionJob[] {
    const moved = this.#groups.get(groupId(from))?.waiting ?? []
    this.forget(from)
    for (const job of moved) {
      job.scheduledTime = to
      this.#addToGroup(job)
    }
    return moved
  }

  /** Before the opening the gap closes; afterwards the rank stays unused. */
  cancel(job: SessionJob): void {
    const group = this.#groups.get(groupId(job))
    if (group === undefined || group.isOpen) return
    const { waiting } = group
    const index = insertionIndex(waiting, job) - 1
    if (waiting[index] === job) waiting.splice(index, 1)
    // The group has given no rank, so it can go without a trace.
    if (waiting.length === 0) this.forget(job)
  }

  /** Forgets a group that has no live job and will get none: its ranks are no longer needed. */
  forget(group: SessionKey & { readonly scheduledTime: number }): void {
    const id = groupId(group)
    const known = this.#groups.get(id)
    if (known === undefined) return
    this.#openings.leave(known)
    this.#groups.delete(id)
  }

  /** Forgets all groups of some sessions, and returns them in the order of their ids. */
  forgetSessions(sessions: readonly SessionKey[]): Omit<OpenGroup, 'nextRank'>[] {
    const ids = new Set(sessions.map(sessionId))
    const gone = [...this.#groups.values()].filter(({ key }) => ids.has(sessionId(key)))
    gone.sort((a, b) => (a.id < b.id ? -1 : 1))
    return gone.map(({ key, scheduledTime }) => {
      this.forget({ ...key, scheduledTime })
      return { ...key, scheduledTime }
    })
  }

  openGroups(): OpenGroup[] {
    return [...this.#groups.values()].filter(({ isOpen }) => isOpen).map(shownGroup)
  }

  /** Continues where another instance left off, with its open groups and the jobs without a rank. */
  restore(openGroups: readonly OpenGroup[], unranked: readonly SessionJob[]): void {
    for (const { nextRank, ...session } of openGroups) {
      const group = this.#groupFor(session)
      this.#openings.leave(group)
      group.isOpen = true
      group.nextRank = nextRank
    }
    for (const job of unranked.toSorted(compareInSession)) this.#groupFor(job).waiting.push(job)
  }

  #addToGroup(job: SessionJob): void {
    const group = this.#groupFor(job)
    if (job.scheduledTime <= this.#nowMs && !group.isOpen) {
      this.#openings.leave(group)
      this.#open(group)
    }
    if (group.isOpen) {
      giveRank(group, job, this.#spacingMs(job.platform))
      this.#touch(shownGroup(group))
    } else group.waiting.splice(insertionIndex(group.waiting, job), 0, job)
  }

  #open(group: Group): SessionJob[] {
    const ranked = group.waiting
    group.isOpen = true
    group.waiting = []
    const spacingMs = this.#spacingMs(group.key.platform)
    for (const job of ranked) giveRank(group, job, spacingMs)
    this.#touch(shownGroup(group))
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
        waiting: [],
        nextRank: 0,
        isOpen: false,
        heapBits: 0,
      }
      this.#groups.set(id, group)
      this.#openings.enter(group)
    }
    return group
  }
}

function shownGroup({ key, scheduledTime, nextRank }: Group): OpenGroup {
  return { ...key, scheduledTime, nextRank }
}

/**
 * The index after all jobs that come before this one, and after the job itself. A new job nearly always comes
 * last.
 */
export function insertionIndex(waiting: readonly SessionJob[], job: SessionJob): number {
  const last = waiting.at(-1)
  if (last === undefined || compareInSession(last, job) <= 0) return waiting.length
  let low = 0
  let high = waiting.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareInSession(waiting[middle] as SessionJob, job) > 0) high = middle
    else low = middle + 1
  }
  return low
}

function giveRank(group: Group, job: SessionJob, spacingMs: number): void {
  job.rank = group.nextRank++
  job.sendAt = group.scheduledTime + job.rank * spacingMs
}

export function sessionId({ platform, orgRef, eventId }: SessionKey): string {
  return JSON.stringify([platform, orgRef, eventId])
}

function groupId(of: SessionKey & { readonly scheduledTime: number }): string {
  return JSON.stringify([of.platform, of.orgRef, of.eventId, of.scheduledTime])
}
