import {
  type Caller,
  type JobId,
  KIND_NAMES,
  type KindName,
  type Market,
  type WaitReason,
} from '@fairlead/core'
import {
  type ReadyCaller,
  sessionGates,
  type Terms,
  termsNow,
  type WaitingQueue,
} from '@fairlead/core/internal'
import { type Hold, Holds, READY } from './hold.ts'

/** Waiting jobs that are alike, and what holds them. */
export interface HeldJobs {
  readonly kind: KindName
  /** Null: of several callers. */
  readonly caller: Caller | null
  readonly tier: string | null
  /** The model, task or platform that they name. */
  readonly name: string | null
  readonly hold: Hold
  /** Estimated from a part of them if the scan is sampled. */
  readonly jobs: number
  /** The one that goes first; null if it is not known. */
  readonly first: JobId | null
  /** Since when the first of them counts as waiting. */
  readonly since: number | null
  /** When the first of them can be looked at again; null if time alone does not tell. */
  readonly until: number | null
}

/** What all waiting jobs wait for. */
export interface WaitingScan {
  readonly at: number
  readonly waiting: number
  readonly held: readonly HeldJobs[]
  /** How many groups and single jobs were looked at, if that was not all. */
  readonly sampled: number | null
}

/** A scan ends after so many of each, so that it takes some tens of milliseconds at the most. */
const GROUPS_MAX = 10_000
const SINGLES_MAX = 5_000
const REGISTRATIONS_MAX = 20_000
const CHECKS_MAX = 300_000

/**
 * Groups the waiting jobs by what holds them. Ready jobs are known by group, so a million jobs of a thousand groups
 * cost a thousand checks. Jobs in backoff or before their time are counted exactly in sum, and looked at one by one
 * up to a number; beyond it the parts are estimated, and `sampled` says so. `nowMs`: the time, if the market slept since.
 */
export function scanWaiting(
  market: Market,
  { caller = null, nowMs = 0 }: { readonly caller?: Caller | null; readonly nowMs?: number } = {},
): WaitingScan {
  const scan = new Scan(market, caller, Math.max(nowMs, market.nowMs))
  for (const kind of KIND_NAMES) {
    const queue = market.queues.get(kind)
    if (queue !== undefined) scan.addQueue(kind, queue)
  }
  scan.addRegistrations()
  return scan.done()
}

type Single = Pick<HeldJobs, 'kind' | 'caller' | 'tier' | 'name' | 'first' | 'since' | 'until'>

class Scan {
  readonly #market: Market
  readonly #caller: Caller | null
  readonly #at: number
  readonly #terms: Terms
  readonly #held: HeldJobs[] = []
  #waiting = 0
  #looked = 0
  #isSampled = false

  constructor(market: Market, caller: Caller | null, at: number) {
    this.#at = at
    this.#market = market
    this.#caller = caller
    this.#terms = termsNow(market)
  }

  done(): WaitingScan {
    return {
      at: this.#at,
      waiting: this.#waiting,
      held: this.#held,
      sampled: this.#isSampled ? this.#looked : null,
    }
  }

  addQueue(kind: KindName, queue: WaitingQueue): void {
    if (queue.size === 0) return
    this.#addReady(kind, queue)
    this.#addDelayed(kind, queue)
    this.#addDependent(kind, queue)
  }

  #addReady(kind: KindName, queue: WaitingQueue): void {
    const holds = new Holds(this.#market, kind, this.#terms, CHECKS_MAX)
    const from = this.#held.length
    let seen = 0
    if (this.#caller !== null) {
      const groups = queue.readyGroups(this.#caller)
      // How many it has beyond what was looked at is not known.
      seen = this.#lookAt(kind, { jobs: null, groups: () => groups }, GROUPS_MAX, holds)
      return this.#scale(from, seen, seen)
    }
    const callers = queue.readyCallers()
    // So that each tenant is seen, whatever others have.
    const each = Math.max(1, Math.floor(GROUPS_MAX / Math.max(1, callers.size)))
    let left = GROUPS_MAX
    for (const caller of callers.all()) {
      if (left-- <= 0 || holds.isSpent) {
        this.#isSampled = true
        break
      }
      seen += this.#lookAt(kind, caller, each, holds)
    }
    this.#scale(from, seen, queue.readySize)
  }

  /** Looks at so many groups of a caller at the most. Gives the number of jobs that they stand for. */
  #lookAt(
    kind: KindName,
    { jobs: all, groups }: Pick<ReadyCaller, 'jobs' | 'groups'>,
    max: number,
    holds: Holds,
  ): number {
    const from = this.#held.length
    let looked = 0
    let seen = 0
    let isWhole = true
    for (const { shape, jobs, first } of groups()) {
      if (looked === max || holds.isSpent) {
        isWhole = false
        break
      }
      looked++
      seen += jobs
      const { caller, tier, model: name } = shape
      const { id, readyTs: since } = first
      const hold = holds.of(first)
      this.#held.push({ kind, caller, tier, name, first: id, since, until: null, hold, jobs })
    }
    this.#looked += looked
    if (isWhole) return seen
    this.#isSampled = true
    if (all === null) return seen
    this.#estimate(from, seen, all)
    return all
  }

  #addDelayed(kind: KindName, queue: WaitingQueue): void {
    const { pauses } = this.#market
    const from = this.#held.length
    const groups = new Groups()
    let looked = 0
    let own = 0
    for (const job of queue.delayed()) {
      if (looked === SINGLES_MAX) break
      looked++
      const { shape } = job
      if (this.#caller !== null && shape.caller !== this.#caller) continue
      own++
      const isPaused = !pauses.isEmpty && pauses.holding(shape) !== null
      const reason = isPaused ? 'paused' : job.notBefore === null ? 'scheduled' : 'backoff'
      const { caller, tier, model: name } = shape
      const until = isPaused ? null : job.startsAt
      const at = { kind, caller, tier, name, first: job.id, since: job.readyTs, until }
      groups.add(reason, isPaused ? pauses.holding(shape) : null, at)
    }
    this.#looked += looked
    this.#held.push(...groups.all())
    const isWhole = looked === queue.delayedSize
    if (!isWhole) this.#isSampled = true
    const share = looked === 0 ? 0 : own / looked
    this.#scale(from, own, isWhole ? own : Math.round(share * queue.delayedSize))
  }

  /** They are in no list, so all that is known is their number. */
  #addDependent(kind: KindName, queue: WaitingQueue): void {
    if (this.#caller !== null || queue.heldSize === 0) return
    const isPaused = this.#market.pauses.holdsKind(kind)
    const reason = isPaused ? 'paused' : 'dependencies'
    const nobody = { caller: null, tier: null, name: null, first: null, since: null, until: null }
    this.#held.push({ kind, ...nobody, hold: { ...READY, reason }, jobs: queue.heldSize })
    this.#waiting += queue.heldSize
  }

  /** Registrations wait in their sessions, and for more reasons than other jobs. */
  addRegistrations(): void {
    const { sessions, jobs } = this.#market
    const holds = new Holds(this.#market, 'registration', this.#terms, CHECKS_MAX)
    const gateOf = sessionGates(this.#market)
    const from = this.#held.length
    const groups = new Groups()
    let looked = 0
    let isWhole = true
    for (const waiting of sessions.jobs()) {
      if (looked === REGISTRATIONS_MAX) {
        this.#isSampled = true
        isWhole = false
        break
      }
      const job = waiting.sentAt === null ? jobs.get(waiting.entry.id) : undefined
      if (job === undefined) continue
      if (this.#caller !== null && job.caller !== this.#caller) continue
      looked++
      const gate = gateOf(waiting)
      const hold = gate === null ? holds.of(job) : null
      const { caller, tier, model: name } = job.shape
      const { sendAt, scheduledTime } = waiting.entry
      const until = gate === 'not_open' ? scheduledTime : gate === 'pacing' ? sendAt : null
      // A registration waits for its turn from the opening on.
      const since = sendAt
      const at = { kind: 'registration', caller, tier, name, first: job.id, since, until } as const
      if (hold === null) groups.add(gate ?? 'ready', null, at)
      else groups.addTo(hold, at)
    }
    this.#looked += looked
    this.#held.push(...groups.all())
    const isExact = isWhole || this.#caller !== null
    this.#scale(from, looked, isExact ? looked : sessions.waitingSize)
  }

  /** Estimates the counts from `from` on, of which `seen` jobs were looked at and `total` are there. */
  #scale(from: number, seen: number, total: number): void {
    this.#waiting += total
    this.#estimate(from, seen, total)
  }

  #estimate(from: number, seen: number, total: number): void {
    if (seen === total || seen === 0) return
    for (let i = from; i < this.#held.length; i++) {
      const held = this.#held[i] as HeldJobs
      this.#held[i] = { ...held, jobs: Math.max(1, Math.round((held.jobs * total) / seen)) }
    }
  }
}

/** Jobs that were looked at one by one, put together by caller, name and what holds them. */
class Groups {
  readonly #byKey = new Map<string, { held: HeldJobs; jobs: number }>()
  readonly #holds = new Map<string, Hold>()

  add(reason: WaitReason, pause: Hold['pause'], at: Single): void {
    const key = `${reason}|${pause?.since ?? ''}|${pause?.name ?? ''}|${pause?.caller ?? ''}`
    let hold = this.#holds.get(key)
    if (hold === undefined) {
      hold = { ...READY, reason, pause }
      this.#holds.set(key, hold)
    }
    this.#put(key, hold, at)
  }

  addTo(hold: Hold, at: Single): void {
    this.#put(`${hold.check}|${hold.provider?.id ?? ''}|${hold.limit?.key ?? ''}`, hold, at)
  }

  all(): HeldJobs[] {
    return [...this.#byKey.values()].map(({ held, jobs }) => ({ ...held, jobs }))
  }

  #put(holdKey: string, hold: Hold, at: Single): void {
    const key = `${at.caller}|${at.name}|${holdKey}`
    const known = this.#byKey.get(key)
    if (known === undefined) {
      this.#byKey.set(key, { held: { ...at, hold, jobs: 1 }, jobs: 1 })
      return
    }
    known.jobs++
    const { held } = known
    const isOlder = (at.since ?? Infinity) < (held.since ?? Infinity)
    const until = earlier(at.until, held.until)
    if (isOlder) known.held = { ...held, first: at.first, since: at.since, until }
    else if (until !== held.until) known.held = { ...held, until }
  }
}

/** The earlier of two times, of which either may be unknown. */
export function earlier(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}
