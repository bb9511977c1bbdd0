import {
  admitsLookup,
  admitsSend,
  advanceBudget,
  allowedInFlight,
  type DispatchBudget,
  isUnused,
  nextRecoveryAt,
  nextTokenAt,
  openBudget,
  recoverBudget,
  spacingMsMax,
  takeToken,
  widenedSpacingMs,
} from '../admit/dispatch-budget.ts'
import type { IndexedItem } from '../collections/indexed-heap.ts'
import type { PlatformPolicy } from '../policy/platform-policy.ts'
import type { DispatchJob } from './dispatch-job.ts'
import type { SessionLane } from './session-lane.ts'
import { SessionLanes } from './session-lanes.ts'
import { bookWeightedTurn, nextTurn, weightedTurn } from './session-turns.ts'

/** What is stored of a dispatch key, whole. */
export interface OrgDispatchState {
  readonly platform: string
  readonly orgRef: string
  readonly budget: DispatchBudget
  /** The session that was served last. */
  readonly servedLast: string | null
  /** The last send of each session, oldest first; as far back as it can matter. */
  readonly lastSends: readonly (readonly [eventId: string, at: number])[]
  /** The figures of weighted round robin that are not 0. */
  readonly credits: readonly (readonly [eventId: string, credit: number])[]
  /** See `OrgDispatch.unservedSince`. */
  readonly unservedSince: number | null
}

/** A job that may go now, with what has to be booked when it does. */
export interface SendChoice {
  readonly job: DispatchJob
  readonly lane: SessionLane
  readonly ready: readonly SessionLane[]
}

/**
 * One dispatch key: an organisation's account at a platform. Its sessions share one budget and take
 * turns. `choose` finds the next send and changes nothing that is stored; `book` makes it happen.
 */
export class OrgDispatch implements IndexedItem {
  readonly platform: string
  readonly orgRef: string
  policy: PlatformPolicy
  readonly budget: DispatchBudget
  inFlight = 0
  /**
   * Somebody of it could have gone and nobody was there to make the attempt: a number by which those who
   * have waited for that longest come first (DISPATCH-5). Null for all others.
   */
  unservedSince: number | null
  /** When it should be looked at again; see `nextSendAt`. */
  wakeAt = Infinity
  heapIndex = -1
  #servedLast: string | null
  readonly #lastSends: Map<string, number>
  readonly lanes = new SessionLanes()
  /** Jobs for which somebody has to look whether they have booked (ATTEMPT-9). */
  readonly lookups = new Set<DispatchJob>()

  constructor(
    key: { readonly platform: string; readonly orgRef: string },
    policy: PlatformPolicy,
    start: number | OrgDispatchState,
  ) {
    this.platform = key.platform
    this.orgRef = key.orgRef
    this.policy = policy
    const state = typeof start === 'number' ? null : start
    this.budget = state === null ? openBudget(policy, start as number) : { ...state.budget }
    this.#servedLast = state?.servedLast ?? null
    this.unservedSince = state?.unservedSince ?? null
    this.#lastSends = new Map(state?.lastSends)
  }

  /** As of a time, where one is given: then it does not matter when it was last looked at. */
  state(nowMs: number | null = null): OrgDispatchState {
    const budget = { ...this.budget }
    if (nowMs !== null) advanceBudget(budget, this.policy, nowMs)
    return {
      platform: this.platform,
      orgRef: this.orgRef,
      budget,
      servedLast: this.#servedLast,
      lastSends: [...this.#lastSends],
      credits: this.lanes.credits(),
      unservedSince: this.unservedSince,
    }
  }

  /** After a restart, when the live jobs are back. */
  restoreCredits({ credits }: OrgDispatchState): void {
    for (const [eventId, credit] of credits) this.lanes.lane(eventId).credit = credit
  }

  /** Takes the recoveries of the budget that are due; false if none is, and nothing has changed. */
  recover(nowMs: number): boolean {
    return recoverBudget(this.budget, this.policy, nowMs)
  }

  /**
   * Nothing lives in it, and nothing of what it has sent can hold anybody back: a new one would decide
   * alike, but for whose turn is first (DISPATCH-9). Once true, this stays so until somebody joins.
   */
  isIdle(nowMs: number): boolean {
    if (this.inFlight > 0 || this.lookups.size > 0 || this.lanes.size > 0) return false
    const lastAt = [...this.#lastSends.values()].at(-1) ?? -Infinity
    if (lastAt + spacingMsMax(this.policy) > nowMs) return false
    const budget = { ...this.budget }
    advanceBudget(budget, this.policy, nowMs)
    return isUnused(budget, this.policy, nowMs)
  }

  /** The next send, if the budget admits one and a session has a ready job (DISPATCH-5). */
  choose(nowMs: number): SendChoice | null {
    const { inFlight } = this
    if (!admitsSend(this.budget, this.policy, { inFlight, nowMs })) return null
    const spacingMs = widenedSpacingMs(this.budget, this.policy)
    const all = this.lanes.ready(nowMs)
    const ready =
      spacingMs === 0 ? all : all.filter((lane) => this.#spacedAt(lane, spacingMs) <= nowMs)
    const { weights } = this.policy
    const lane = weights === null ? nextTurn(ready, this.#servedLast) : weightedTurn(ready, weights)
    const job = lane?.first(nowMs)
    return lane === undefined || job === undefined ? null : { job, lane, ready }
  }

  /** Of the jobs to look for now, the one whose time ends first; it needs a slot in flight, no token. */
  chooseLookup(nowMs: number): DispatchJob | null {
    if (this.lookups.size === 0 || !admitsLookup(this.budget, this.inFlight, nowMs)) return null
    let first: DispatchJob | null = null
    for (const job of this.lookups) {
      if ((job.retryAt ?? nowMs) > nowMs) continue
      if (first === null || isLookedForFirst(job, first)) first = job
    }
    return first
  }

  /** Sends what `choose` gave. */
  book({ job, lane, ready }: SendChoice, nowMs: number): void {
    const { weights } = this.policy
    if (weights !== null) bookWeightedTurn(ready, weights, lane)
    this.lanes.leave(job)
    takeToken(this.budget, this.policy, nowMs)
    this.inFlight++
    this.#servedLast = lane.eventId
    this.#noteSend(lane.eventId, nowMs)
  }

  /**
   * When a send may become possible by the passing of time alone; never later than it does, and
   * infinite when nothing waits. A recovery counts, because it may bring everything else forward.
   */
  nextSendAt(): number {
    const { budget, policy } = this
    const isFull = this.inFlight >= allowedInFlight(budget)
    const jobAt = this.#nextReadyAt()
    const lookupAt = isFull
      ? Infinity
      : Math.max(this.#nextLookAt(), budget.pausedUntil ?? -Infinity)
    if (jobAt === Infinity && this.lookups.size === 0) return Infinity
    const sendAt = isFull ? Infinity : Math.max(jobAt, nextTokenAt(budget))
    return Math.min(sendAt, lookupAt, nextRecoveryAt(budget, policy))
  }

  #nextLookAt(): number {
    let at = Infinity
    for (const { retryAt } of this.lookups) at = Math.min(at, retryAt ?? -Infinity)
    return at
  }

  /** When a session has a ready job, or can have one. */
  #nextReadyAt(): number {
    const spacingMs = widenedSpacingMs(this.budget, this.policy)
    if (spacingMs === 0) return this.lanes.nextReadyAt()
    let at = Infinity
    for (const lane of this.lanes.all()) {
      at = Math.min(at, Math.max(lane.readyAt(), this.#spacedAt(lane, spacingMs)))
    }
    return at
  }

  /** While the spacing is widened, sends of one session keep that distance (BUDGET-7). */
  #spacedAt({ eventId }: SessionLane, spacingMs: number): number {
    const lastSend = this.#lastSends.get(eventId)
    return lastSend === undefined ? -Infinity : lastSend + spacingMs
  }

  /** Kept in the order of time, so that those which no spacing can reach any more are in front. */
  #noteSend(eventId: string, nowMs: number): void {
    this.#lastSends.delete(eventId)
    this.#lastSends.set(eventId, nowMs)
    const reachMs = spacingMsMax(this.policy)
    for (const [oldest, at] of this.#lastSends) {
      if (at + reachMs > nowMs) break
      this.#lastSends.delete(oldest)
    }
  }
}

/** By the end of the time that there is for it, then by id. */
function isLookedForFirst(a: DispatchJob, b: DispatchJob): boolean {
  const [untilA, untilB] = [a.lookupUntil ?? Infinity, b.lookupUntil ?? Infinity]
  return untilA < untilB || (untilA === untilB && a.entry.id < b.entry.id)
}
