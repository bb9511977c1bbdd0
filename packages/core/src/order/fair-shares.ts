import { IndexedHeap, type IndexedItem } from '../collections/indexed-heap.ts'
import { TransitMap } from '../collections/transit-map.ts'
import type { Caller } from '../encoding/ids.ts'
import type { Policy } from '../policy/policy.ts'

/** One unit at weight 1, as virtual time. */
const UNIT = 1n << 20n

/** Virtual time of `units` at `weight`, rounded down (FAIR-2). */
export function virtualCost(units: number, weight: number): bigint {
  const cost = BigInt(units) * UNIT
  return weight === 1 ? cost : cost / BigInt(weight)
}

/** The weight of a caller: its own, or else that of its tier (FAIR-2). */
export function weightOf(
  { caller, tier }: { readonly caller: Caller; readonly tier: string },
  { match: { tenantWeights, tierWeights } }: Policy,
): number {
  const own = Object.hasOwn(tenantWeights, caller) ? tenantWeights[caller] : undefined
  const byTier = Object.hasOwn(tierWeights, tier) ? tierWeights[tier] : undefined
  return own ?? byTier ?? 1
}

/** What fair shares know of a caller, for display. Times are virtual. */
export interface Share {
  readonly caller: Caller
  readonly finish: bigint
  /** The largest cost that was booked for it at once, since it was last forgotten. */
  readonly largest: bigint
  /** False if it has no ready job. */
  readonly waiting: boolean
}

interface Tenant extends IndexedItem {
  readonly caller: Caller
  finish: bigint
  largest: bigint
  waiting: boolean
}

/** The state that a restart needs: the virtual time, and each finish time above it. */
export interface FairState {
  readonly virtual: bigint
  readonly finish: ReadonlyMap<Caller, bigint>
}

/**
 * Start-time fair queueing over callers (FAIR-1 … FAIR-4): which caller is next, and what each has had.
 *
 * The virtual time V never falls. Callers whose finish time is at or below V are equal, and the lowest caller goes
 * first among them. Callers above V go by finish time. So there are two heaps, and a caller moves from the second
 * to the first when V passes it. Callers without work are in a third heap and are forgotten when V passes them: an
 * idle caller saves nothing up.
 */
export class FairShares {
  #virtual = 0n
  readonly #tenants = new TransitMap<Caller, Tenant>()
  readonly #level = new IndexedHeap<Tenant>((a, b) => a.caller < b.caller)
  readonly #ahead = new IndexedHeap<Tenant>(byFinish)
  readonly #idle = new IndexedHeap<Tenant>(byFinish)
  /** While a draft is open: every tenant that it moved, with its earlier finish time. */
  #draft: { virtual: bigint; finish: Map<Tenant, bigint> } | null = null
  /** Callers whose finish time may differ from what `takeChanged` last returned. */
  #changed = new Set<Caller>()

  constructor(state?: FairState) {
    if (state === undefined) return
    this.#virtual = state.virtual
    for (const [caller, finish] of state.finish) {
      const tenant = this.#tenant(caller)
      // The size of its jobs is not stored. None of those that still count was larger than this.
      tenant.largest = finish - this.#virtual
      this.#reposition(tenant, finish)
    }
  }

  get virtual(): bigint {
    return this.#virtual
  }

  /** Every caller that is remembered, in no order. */
  all(): Iterable<Share> {
    return this.#tenants.values()
  }

  state(): FairState {
    const finish = new Map<Caller, bigint>()
    for (const { caller, finish: at } of this.#tenants.values()) {
      if (at > this.#virtual) finish.set(caller, at)
    }
    return { virtual: this.#virtual, finish }
  }

  /** Takes the finish times that changed since the last call; null for one at or below V, which is forgotten. */
  takeChanged(): Map<Caller, bigint | null> {
    const rows = new Map<Caller, bigint | null>()
    for (const caller of this.#changed) {
      const finish = this.#tenants.get(caller)?.finish
      rows.set(caller, finish !== undefined && finish > this.#virtual ? finish : null)
    }
    this.#changed = new Set()
    return rows
  }

  /** The caller whose turn it is, among those with waiting work. */
  next(): Caller | undefined {
    return (this.#level.top() ?? this.#ahead.top())?.caller
  }

  /** Records that a caller has work that could be taken now, or has none. */
  setWaiting(caller: Caller, waiting: boolean): void {
    const known = this.#tenants.get(caller)
    if ((known?.waiting ?? false) === waiting) return
    const tenant = known ?? this.#tenant(caller)
    tenant.waiting = waiting
    this.#reposition(tenant, tenant.finish)
  }

  /** Gives the caller a job of this cost. The job starts at `max(V, V_c)`, and V follows (FAIR-2). */
  book(caller: Caller, cost: bigint): void {
    const tenant = this.#tenant(caller)
    const start = tenant.finish > this.#virtual ? tenant.finish : this.#virtual
    if (cost > tenant.largest) tenant.largest = cost
    this.#virtual = start
    this.#change(tenant, start + cost)
    this.#levelOut()
  }

  /** Replaces the estimated cost of a job by its actual cost (FAIR-3). */
  replaceEstimate(caller: Caller, actual: bigint, estimate: bigint): void {
    const tenant = this.#tenant(caller)
    const from = tenant.finish > this.#virtual ? tenant.finish : this.#virtual
    if (actual > tenant.largest) tenant.largest = actual
    this.#change(tenant, from + actual - estimate)
  }

  /** Opens a draft: bookings are provisional until `keepDraft` or `rollBack`. */
  openDraft(): void {
    this.#draft = { virtual: this.#virtual, finish: new Map() }
  }

  /** Makes the bookings of the draft final. */
  keepDraft(): void {
    const draft = this.#draft
    this.#draft = null
    // Tenants that the draft kept in memory may be forgotten now.
    for (const tenant of draft?.finish.keys() ?? []) this.#forgetIfIdle(tenant)
  }

  rollBack(): void {
    const draft = this.#draft
    if (draft === null) return
    this.#draft = null
    this.#virtual = draft.virtual
    for (const [tenant, finish] of draft.finish) this.#change(tenant, finish)
  }

  #tenant(caller: Caller): Tenant {
    let tenant = this.#tenants.get(caller)
    if (tenant === undefined) {
      tenant = { caller, finish: this.#virtual, largest: 0n, waiting: false, heapIndex: -1 }
      this.#tenants.set(caller, tenant)
    }
    return tenant
  }

  /** Call this when its finish time has changed, or V has passed it. */
  #change(tenant: Tenant, finish: bigint): void {
    this.#changed.add(tenant.caller)
    this.#reposition(tenant, finish)
  }

  #reposition(tenant: Tenant, finish: bigint): void {
    this.#remember(tenant)
    // A tenant is in at most one of these heaps.
    if (!this.#level.remove(tenant) && !this.#ahead.remove(tenant)) this.#idle.remove(tenant)
    tenant.finish = finish
    if (finish > this.#virtual) (tenant.waiting ? this.#ahead : this.#idle).add(tenant)
    else if (tenant.waiting) this.#level.add(tenant)
    else this.#forgetIfIdle(tenant)
  }

  /** An idle caller saves nothing up. During a draft no tenant is forgotten, because the draft may be rolled back. */
  #forgetIfIdle(tenant: Tenant): void {
    if (this.#draft !== null || tenant.waiting || tenant.finish > this.#virtual) return
    this.#tenants.delete(tenant.caller)
  }

  /** Call this after V has moved: tenants that it passed are level with it, or forgotten. */
  #levelOut(): void {
    this.#levelWith(this.#ahead)
    this.#levelWith(this.#idle)
  }

  #levelWith(heap: IndexedHeap<Tenant>): void {
    for (let top = heap.top(); top !== undefined && top.finish <= this.#virtual; top = heap.top()) {
      this.#change(top, top.finish)
    }
  }

  #remember(tenant: Tenant): void {
    const finish = this.#draft?.finish
    if (finish !== undefined && !finish.has(tenant)) finish.set(tenant, tenant.finish)
  }
}

function byFinish(a: Tenant, b: Tenant): boolean {
  return a.finish !== b.finish ? a.finish < b.finish : a.caller < b.caller
}
