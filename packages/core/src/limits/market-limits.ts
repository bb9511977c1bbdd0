import { amountOf, type Need } from '../admit/admit-rules.ts'
import { IndexedHeap, type IndexedItem } from '../collections/indexed-heap.ts'
import type { QueuedJob } from '../order/queued-job.ts'
import type { CompleteAnswer, Excess, ReserveAnswer } from './limit-answers.ts'
import type { Limit } from './limit-definition.ts'
import { Limits, type LimitsTouch, type LimitView, type StoredHold } from './limits.ts'
import type { MeterState } from './meter.ts'
import type { RememberedLease } from './remembered-leases.ts'
import type { Actual, Requirement } from './reserve-request.ts'
import type { Reserved } from './reserved.ts'

/** The stored form of a lease id. */
export interface LimitLeaseState {
  /** Leases are remembered in this order. The lowest number is the oldest lease. */
  readonly seq: number
  readonly lease: RememberedLease<StoredHold>
  /** For a lease of the queue: the limits whose tokens it holds, once per hold. */
  readonly tokenKeys: readonly string[]
}

/** The state that a restart needs. */
export interface MarketLimitsState {
  readonly nowMs: number
  /** See `Limits.anewFrom`. */
  readonly anewFrom: number
  /** The number of the newest lease id. */
  readonly seq: number
  readonly limits: readonly MeterState[]
  readonly leases: readonly (readonly [id: string, LimitLeaseState])[]
}

/** The changes since the last call; null for a limit or lease id that is gone. */
export interface LimitChanges {
  readonly limits: readonly (readonly [key: string, MeterState | null])[]
  readonly leases: readonly (readonly [id: string, LimitLeaseState | null])[]
}

/** The time at which a lease id is due to be forgotten; outdated if that has changed since. */
interface Forgetting extends IndexedItem {
  readonly id: string
  readonly at: number
}

/** The data stored beside a lease id. */
interface Beside {
  readonly seq: number
  readonly tokenKeys: readonly string[]
}

/**
 * The limits of a market: LIMIT-1 to LIMIT-15, with every change reported piece by piece, so that it can be stored
 * (ADMIT-1). A lease id is forgotten exactly when it is due. A memory-only limiter may forget it later, when a
 * call comes across it. Here a restart would then change the stored state.
 */
export class MarketLimits {
  readonly #limits: Limits
  readonly #beside = new Map<string, Beside>()
  readonly #due = new IndexedHeap<Forgetting>(
    (a, b) => a.at < b.at || (a.at === b.at && a.id < b.id),
  )
  readonly #changedLimits = new Set<string>()
  readonly #changedLeases = new Set<string>()
  #seq = 0

  /** `touched` is called with every change that must be stored. */
  constructor(
    actualFactorMax: number,
    state?: MarketLimitsState,
    touched: () => void = () => undefined,
  ) {
    const touch: LimitsTouch = {
      limit: (key) => {
        this.#changedLimits.add(key)
        touched()
      },
      lease: (id) => {
        this.#touchLease(id)
        touched()
      },
    }
    if (state === undefined) {
      this.#limits = new Limits({ touch, actualFactorMax })
      return
    }
    const { nowMs, anewFrom, seq, limits: meters } = state
    const remembered: [id: string, lease: LimitLeaseState['lease']][] = []
    for (const [id, { lease, ...beside }] of [...state.leases].sort(bySeq)) {
      this.#beside.set(id, beside)
      this.#due.add({ id, at: lease.forgetAt, heapIndex: -1 })
      remembered.push([id, lease])
    }
    this.#seq = seq
    const held = { nowMs, anewFrom, meters, leases: remembered }
    this.#limits = Limits.restore(held, { touch, actualFactorMax })
  }

  /** The number of the newest lease id. */
  get seq(): number {
    return this.#seq
  }

  /** See `Limits.anewFrom`. */
  get anewFrom(): number {
    return this.#limits.anewFrom
  }

  set actualFactorMax(factor: number) {
    this.#limits.actualFactorMax = factor
  }

  define(given: unknown, nowMs: number): LimitView {
    return this.#limits.define(given, nowMs)
  }

  reset(key: string, nowMs: number): LimitView | null {
    return this.#limits.reset(key, nowMs)
  }

  delete(key: string, nowMs: number): boolean {
    return this.#limits.delete(key, nowMs)
  }

  get(key: string, nowMs: number): LimitView | null {
    return this.#limits.get(key, nowMs)
  }

  definition(key: string): Limit | null {
    return this.#limits.definition(key)
  }

  list(nowMs: number): LimitView[] {
    return this.#limits.list(nowMs)
  }

  /** See `Limits.reserved`. */
  reserved(nowMs: number): Map<string, Reserved> {
    return this.#limits.reserved(nowMs)
  }

  /** One limit as data, as of its last change; null if it does not exist. */
  state(key: string): MeterState | null {
    return this.#limits.limitState(key)
  }

  reserve(leaseId: string, requirements: readonly Requirement[], nowMs: number): ReserveAnswer {
    return this.#limits.reserve(leaseId, requirements, nowMs)
  }

  complete(leaseId: string, actuals: readonly Actual[], nowMs: number): CompleteAnswer {
    return this.#limits.complete(leaseId, actuals, nowMs)
  }

  /** See `Limits.waitFor`. */
  waitFor(
    key: string,
    amount: number,
    promised: number,
    nowMs: number,
  ): ReturnType<Limits['waitFor']> {
    return this.#limits.waitFor(key, amount, promised, nowMs)
  }

  /** Holds the needs of a job under the id of the lease that a round gave it (ADMIT-3). */
  hold(
    leaseId: string,
    needs: readonly Need[],
    job: Pick<QueuedJob, 'tokens'>,
    nowMs: number,
  ): void {
    if (needs.length === 0) return
    const requirements = needs.map((need) => ({ key: need.key, amount: amountOf(need, job) }))
    this.#limits.book(leaseId, requirements, nowMs)
    const tokenKeys = needs.flatMap(({ key, perToken }) => Array<string>(perToken).fill(key))
    const beside = this.#beside.get(leaseId)
    if (beside !== undefined) this.#beside.set(leaseId, { ...beside, tokenKeys })
  }

  /**
   * Ends a lease. If its actual tokens are known, they replace the estimate. Returns the part of them that was too
   * large to be booked (LIMIT-19).
   */
  end(
    leaseId: string,
    { tokens }: Pick<QueuedJob, 'tokens'>,
    actualTokens: number | null,
    nowMs: number,
  ): readonly Excess[] {
    const beside = this.#beside.get(leaseId)
    if (beside === undefined) return NOTHING
    const lease = this.#limits.leaseState(leaseId)
    const actuals = new Map<string, number>()
    if (lease?.state === 'held' && actualTokens !== null) {
      for (const key of beside.tokenKeys) {
        const reserved = lease.holds.find((hold) => hold.key === key)?.amount ?? 0
        actuals.set(key, (actuals.get(key) ?? reserved) + actualTokens - Math.max(1, tokens))
      }
    }
    const given = [...actuals].map(([key, amount]) => ({
      key,
      amount: Math.min(amount, Number.MAX_SAFE_INTEGER),
    }))
    return this.#limits.complete(leaseId, given, nowMs).excess ?? NOTHING
  }

  /** Forgets every lease id that is due. */
  advance(nowMs: number): void {
    for (let due = this.#due.top(); due !== undefined && due.at <= nowMs; due = this.#due.top()) {
      this.#due.remove(due)
      this.#limits.forgetIfDue(due.id, nowMs)
    }
  }

  /** Takes the changes since the last call, ordered by key or id. */
  takeChanges(): LimitChanges {
    const limits = [...this.#changedLimits]
      .sort()
      .map((key) => [key, this.#limits.limitState(key)] as const)
    const leases = [...this.#changedLeases].sort().map((id) => [id, this.#leaseState(id)] as const)
    this.#changedLimits.clear()
    this.#changedLeases.clear()
    return { limits, leases }
  }

  #leaseState(id: string): LimitLeaseState | null {
    const lease = this.#limits.leaseState(id)
    const beside = this.#beside.get(id)
    return lease === null || beside === undefined ? null : { lease, ...beside }
  }

  #touchLease(id: string): void {
    this.#changedLeases.add(id)
    const lease = this.#limits.leaseState(id)
    if (lease === null) {
      this.#beside.delete(id)
      return
    }
    this.#due.add({ id, at: lease.forgetAt, heapIndex: -1 })
    if (!this.#beside.has(id)) this.#beside.set(id, { seq: ++this.#seq, tokenKeys: NO_KEYS })
  }
}

function bySeq(
  [, a]: MarketLimitsState['leases'][number],
  [, b]: MarketLimitsState['leases'][number],
): number {
  return a.seq - b.seq
}

const NO_KEYS: readonly string[] = []
const NOTHING: readonly Excess[] = []
