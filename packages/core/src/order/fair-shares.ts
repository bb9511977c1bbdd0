import { IndexedHeap, type IndexedItem } from '../collections/indexed-heap.ts'
import { TransitMap } from '../collections/transit-map.ts'
import type { Caller } from '../encoding/ids.ts'

/** One unit at weight 1, as virtual time. */
const UNIT = 1n << 20n

/** Virtual time of `units` at `weight`, rounded down (FAIR-2). */
export function virtualCost(units: number, weight: number): bigint {
  const cost = BigInt(units) * UNIT
  return weight === 1 ? cost : cost / BigInt(weight)
}

interface Tenant extends IndexedItem {
  readonly caller: Caller
  finish: bigint
  waiting: boolean
}

/** What a restart needs: the virtual time, and each finish time above it. */
export interface FairState {
  readonly virtual: bigint
  readonly finish: ReadonlyMap<Caller, bigint>
}

/**
 * Start-time fair queueing over callers (FAIR-1 … FAIR-4): who is next, and what each has had.
 *
 * The virtual time V never falls. Callers whose finish time is at or below V are all alike, and the
 * lowest caller goes first among them; those above V go by finish time. So there are two heaps, and
 * a caller moves from the second to the first as V passes it. Callers without work stand in a third,
 * only to be forgotten when V passes them: nothing is saved up while idle.
 */
export class FairShares {
  #virtual = 0n
  readonly #tenants = new TransitMap<Caller, Tenant>()
  readonly #level = new IndexedHeap<Tenant>((a, b) => a.caller < b.caller)
  readonly #ahead = new IndexedHeap<Tenant>(byFinish)
  readonly #idle = new IndexedHeap<Tenant>(byFinish)
  /** While a draft is open: every tenant it moved, with the finish time to go back to. */
  #draft: { virtual: bigint; finish: Map<Tenant, bigint> } | null = null
  /** Callers whose figure may differ from what was last taken by `takeChanged`. */
  #changed = new Set<Caller>()

  constructor(state?: FairState) {
    if (state === undefined) return
    this.#virtual = state.virtual
    for (const [caller, finish] of state.finish) this.#reposition(this.#tenant(caller), finish)
  }

  get virtual(): bigint {
    return this.#virtual
  }

  state(): FairState {
    const finish = new Map<Caller, bigint>()
    for (const { caller, finish: at } of this.#tenants.values()) {
      if (at > this.#virtual) finish.set(caller, at)
    }
    return { virtual: this.#virtual, finish }
  }

  /** The finish times that changed since the last call; null is one at or below V, to be forgotten. */
  takeChanged(): Map<Caller, bigint | null> {
    const rows = new Map<Caller, bigint | null>()
    for (const caller of this.#changed) {
      const finish = this.#tenants.get(caller)?.finish
      rows.set(caller, finish !== undefined && finish > this.#virtual ? finish : null)
    }
    this.#changed = new Set()
    return rows
  }

  /** The caller whose turn it is, of those with work waiting. */
  next(): Caller | undefined {
    return (this.#level.top() ?? this.#ahead.top())?.caller
  }

  /** Says whether a caller has work that could be taken now. */
  setWaiting(caller: Caller, waiting: boolean): void {
    const known = this.#tenants.get(caller)
    if ((known?.waiting ?? false) === waiting) return
    const tenant = known ?? this.#tenant(caller)
    tenant.waiting = waiting
    this.#reposition(tenant, tenant.finish)
  }

  /** The caller gets a job of this cost: it starts at `max(V, V_c)`, and V follows (FAIR-2). */
  book(caller: Caller, cost: bigint): void {
    const tenant = this.#tenant(caller)
    const start = tenant.finish > this.#virtual ? tenant.finish : this.#virtual
    this.#virtual = start
    this.#change(tenant, start + cost)
    this.#levelOut()
  }

  /** What a job really cost takes the place of its estimate (FAIR-3). */
  replaceEstimate(caller: Caller, actual: bigint, estimate: bigint): void {
    const tenant = this.#tenant(caller)
    const from = tenant.finish > this.#virtual ? tenant.finish : this.#virtual
    this.#change(tenant, from + actual - estimate)
  }

  /** Bookings from here on are on trial, until `keepDraft` or `rollBack`. */
  openDraft(): void {
    this.#draft = { virtual: this.#virtual, finish: new Map() }
  }

  /** Everything on trial was for good. */
  keepDraft(): void {
    const draft = this.#draft
    this.#draft = null
    // What a draft keeps from being forgotten may be forgotten now.
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
      tenant = { caller, finish: this.#virtual, waiting: false, heapIndex: -1 }
      this.#tenants.set(caller, tenant)
    }
    return tenant
  }

  /** Its figure has changed, or V has passed it. */
  #change(tenant: Tenant, finish: bigint): void {
    this.#changed.add(tenant.caller)
    this.#reposition(tenant, finish)
  }

  #reposition(tenant: Tenant, finish: bigint): void {
    this.#remember(tenant)
    // It is in one of them at most.
    if (!this.#level.remove(tenant) && !this.#ahead.remove(tenant)) this.#idle.remove(tenant)
    tenant.finish = finish
    if (finish > this.#virtual) (tenant.waiting ? this.#ahead : this.#idle).add(tenant)
    else if (tenant.waiting) this.#level.add(tenant)
    else this.#forgetIfIdle(tenant)
  }

  /** Nothing is saved up while idle; but a draft may still be taken back. */
  #forgetIfIdle(tenant: Tenant): void {
    if (this.#draft !== null || tenant.waiting || tenant.finish > this.#virtual) return
    this.#tenants.delete(tenant.caller)
  }

  /** V has moved: whoever it has passed is level with it, or forgotten. */
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
