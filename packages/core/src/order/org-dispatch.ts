import {
  admitsSend,
  allowedInFlight,
  type DispatchBudget,
  nextRecoveryAt,
  nextTokenAt,
  openBudget,
  settleBudget,
  spacingMsMax,
  takeToken,
  widenedSpacingMs,
} from '../admit/dispatch-budget.ts'
import type { PlatformPolicy } from '../admit/platform-policy.ts'
import { invariant } from '../errors.ts'
import type { DispatchJob } from './dispatch-job.ts'
import type { IndexedItem } from './indexed-heap.ts'
import { SessionLane } from './session-lane.ts'
import { bookWeightedTurn, nextTurn, placeBehind, weightedTurn } from './session-turns.ts'

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
  /** When it should be looked at again; see `nextSendAt`. */
  wakeAt = Infinity
  heapIndex = -1
  #servedLast: string | null
  readonly #lastSends: Map<string, number>
  /** Sessions with a live job, and the same in key order. */
  readonly #laneOf = new Map<string, SessionLane>()
  readonly #lanes: SessionLane[] = []

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
    this.#lastSends = new Map(state?.lastSends)
  }

  state(): OrgDispatchState {
    return {
      platform: this.platform,
      orgRef: this.orgRef,
      budget: { ...this.budget },
      servedLast: this.#servedLast,
      lastSends: [...this.#lastSends],
      credits: this.#lanes
        .filter(({ credit }) => credit !== 0)
        .map(({ eventId, credit }) => [eventId, credit]),
    }
  }

  /** A job has joined. */
  addLive(eventId: string): void {
    const lane = this.#laneOf.get(eventId) ?? this.#openLane(eventId)
    lane.live++
  }

  /** After a restart, when the live jobs are back. */
  restoreCredits({ credits }: OrgDispatchState): void {
    for (const [eventId, credit] of credits) this.lane(eventId).credit = credit
  }

  /** A job has ended. The figure of a session goes with its last one. */
  dropLive(eventId: string): void {
    const lane = this.lane(eventId)
    lane.live--
    if (lane.live > 0) return
    this.#laneOf.delete(eventId)
    this.#lanes.splice(this.#lanes.indexOf(lane), 1)
  }

  lane(eventId: string): SessionLane {
    const lane = this.#laneOf.get(eventId)
    invariant(lane !== undefined, 'a session with a live job has a lane')
    return lane
  }

  /** Brings the budget up to date; true if that is worth storing. */
  settle(nowMs: number): boolean {
    return settleBudget(this.budget, this.policy, nowMs)
  }

  /** The next send, if the settled budget admits one and a session has a ready job (DISPATCH-5). */
  choose(nowMs: number): SendChoice | null {
    if (!admitsSend(this.budget, this.inFlight, nowMs)) return null
    const spacingMs = widenedSpacingMs(this.budget, this.policy)
    const ready = this.#lanes.filter((lane) => this.#readyAt(lane, spacingMs) <= nowMs)
    const { weights } = this.policy
    const lane = weights === null ? nextTurn(ready, this.#servedLast) : weightedTurn(ready, weights)
    const job = lane?.first(nowMs)
    return lane === undefined || job === undefined ? null : { job, lane, ready }
  }

  /** Sends what `choose` gave. */
  book({ job, lane, ready }: SendChoice, nowMs: number): void {
    const { weights } = this.policy
    if (weights !== null) bookWeightedTurn(ready, weights, lane)
    lane.leave(job)
    takeToken(this.budget)
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
    const spacingMs = widenedSpacingMs(budget, policy)
    let jobAt = Infinity
    for (const lane of this.#lanes) jobAt = Math.min(jobAt, this.#readyAt(lane, spacingMs))
    if (jobAt === Infinity) return Infinity
    const isFull = this.inFlight >= allowedInFlight(budget)
    const sendAt = isFull ? Infinity : Math.max(jobAt, nextTokenAt(budget))
    return Math.min(sendAt, nextRecoveryAt(budget, policy))
  }

  /** While the spacing is widened, sends of one session keep that distance (BUDGET-7). */
  #readyAt(lane: SessionLane, spacingMs: number): number {
    const lastSend = spacingMs === 0 ? undefined : this.#lastSends.get(lane.eventId)
    return lastSend === undefined ? lane.readyAt() : Math.max(lane.readyAt(), lastSend + spacingMs)
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

  #openLane(eventId: string): SessionLane {
    const lane = new SessionLane(eventId)
    this.#lanes.splice(placeBehind(this.#lanes, eventId), 0, lane)
    this.#laneOf.set(eventId, lane)
    return lane
  }
}
