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

/** The whole stored state of a dispatch key. */
export interface OrgDispatchState {
  readonly platform: string
  readonly orgRef: string
  readonly budget: DispatchBudget
  /** The session that was served last. */
  readonly servedLast: string | null
  /** The last send of each session, oldest first, as far back as it matters. */
  readonly lastSends: readonly (readonly [eventId: string, at: number])[]
  /** The credits of weighted round robin that are not 0. */
  readonly credits: readonly (readonly [eventId: string, credit: number])[]
  /** See `OrgDispatch.unservedSince`. */
  readonly unservedSince: number | null
}

/** A job that may be sent now, with the data to book the send. */
export interface SendChoice {
  readonly job: DispatchJob
  readonly lane: SessionLane
  readonly ready: readonly SessionLane[]
}

/**
 * One dispatch key: an organisation's account at a platform. Its sessions share one budget and take turns.
 * `choose` finds the next send and changes nothing that is stored; `book` carries it out.
 */
export class OrgDispatch implements IndexedItem {
  readonly platform: string
  readonly orgRef: string
  policy: PlatformPolicy
  readonly budget: DispatchBudget
  inFlight = 0
  /**
   * Set if a job of it could have been sent, but no provider was there for it, or a limit was full. The keys that
   * have waited longest have the lowest numbers and come first (DISPATCH-5). Null for all other keys.
   */
  unservedSince: number | null
  /** When to check it again; see `nextSendAt`. */
  wakeAt = Infinity
  heapIndex = -1
  #servedLast: string | null
  readonly #lastSends: Map<string, number>
  readonly lanes = new SessionLanes()
  /** Jobs that wait for a lookup of an unknown outcome (ATTEMPT-9). */
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

  /** The state as of `nowMs`, if given. Then it does not matter when the budget was last advanced. */
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

  /** Call this after a restart, when the live jobs are back. */
  restoreCredits({ credits }: OrgDispatchState): void {
    for (const [eventId, credit] of credits) this.lanes.lane(eventId).credit = credit
  }

  /** Applies the budget's recoveries that are due. False if there are none, and nothing has changed. */
  recover(nowMs: number): boolean {
    return recoverBudget(this.budget, this.policy, nowMs)
  }

  /**
   * True if it has no live job, and none of its sends can hold a job back. A new key would make the same
   * decisions, except for the first turn (DISPATCH-9). Once true, this stays true until a job joins.
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

  /**
   * The job whose lookup should go now: the one whose lookup time ends first. It needs a slot in flight, but no
   * token.
   */
  chooseLookup(nowMs: number): DispatchJob | null {
    if (this.lookups.size === 0 || !admitsLookup(this.budget, this.inFlight, nowMs)) return null
    let first: DispatchJob | null = null
    for (const job of this.lookups) {
      if ((job.retryAt ?? nowMs) > nowMs) continue
      if (first === null || isLookedForFirst(job, first)) first = job
    }
    return first
  }

  /** True if it could send something now. */
  isReady(nowMs: number): boolean {
    return this.chooseLookup(nowMs) !== null || this.choose(nowMs) !== null
  }

  /** Sends the choice of `choose`. */
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
   * When time alone may make a send possible; infinite if no job waits. The answer is never too late. A recovery
   * counts, because it may bring everything else forward.
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

  /** When a session has a ready job, or may have one. */
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

  /** Kept in order of time, so that sends that no spacing can reach any more are in front. */
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

/** By the end of the lookup time, then by id. */
function isLookedForFirst(a: DispatchJob, b: DispatchJob): boolean {
  const [untilA, untilB] = [a.lookupUntil ?? Infinity, b.lookupUntil ?? Infinity]
  return untilA < untilB || (untilA === untilB && a.entry.id < b.entry.id)
}
