import { amountOf, type Need } from '../admit/admit-rules.ts'
import { IndexedHeap, type IndexedItem } from '../collections/indexed-heap.ts'
import type { QueuedJob } from '../order/queued-job.ts'
import type { CompleteAnswer, Excess, ReserveAnswer } from './limit-answers.ts'
import type { Limit } from './limit-definition.ts'
import { Limits, type LimitsTouch, type LimitView, type StoredHold } from './limits.ts'
import type { MeterState } from './meter.ts'
import type { RememberedLease } from './remembered-leases.ts'
import type { Actual, Requirement } from './reserve-request.ts'

/** A lease id as it is stored. */
export interface LimitLeaseState {
  /** Leases are remembered in this order, which says which is the oldest. */
  readonly seq: number
  readonly lease: RememberedLease<StoredHold>
  /** The limits that it holds tokens of, each as often as it does; for a lease of the queue. */
  readonly tokenKeys: readonly string[]
}

/** What a restart needs. */
export interface MarketLimitsState {
  readonly nowMs: number
  /** See `Limits.anewFrom`. */
  readonly anewFrom: number
  /** Number of the last lease id that came in. */
  readonly seq: number
  readonly limits: readonly MeterState[]
  readonly leases: readonly (readonly [id: string, LimitLeaseState])[]
}

/** What has changed since the last time; null is to be forgotten. */
export interface LimitChanges {
  readonly limits: readonly (readonly [key: string, MeterState | null])[]
  readonly leases: readonly (readonly [id: string, LimitLeaseState | null])[]
}

/** When a lease id is to be forgotten; void if that has changed since. */
interface Forgetting extends IndexedItem {
  readonly id: string
  readonly at: number
}

/** What stands beside a lease id. */
interface Beside {
  readonly seq: number
  readonly tokenKeys: readonly string[]
}

/**
 * The limits of a market: those of LIMIT-1 to LIMIT-15, with all that changes told piece by piece, so that
 * it can be stored (ADMIT-1). A lease id is forgotten at its very time. In memory alone that may be later,
 * when somebody comes across it; but then a restart would change what is stored.
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

  /** `touched` is called with every change that is to be stored. */
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

  /** Number of the last lease id that came in. */
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

  /** A round has given a lease to a job: what the job needs is held under its id (ADMIT-3). */
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
   * The lease has ended; where the tokens that it took are known, they take the place of the estimate. Gives what
   * of them was too much to be booked (LIMIT-19).
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

  /** Forgets every lease id whose time has come. */
  advance(nowMs: number): void {
    for (let due = this.#due.top(); due !== undefined && due.at <= nowMs; due = this.#due.top()) {
      this.#due.remove(due)
      this.#limits.forgetIfDue(due.id, nowMs)
    }
  }

  /** Everything that changed since the last call, in order of its key or id. */
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
