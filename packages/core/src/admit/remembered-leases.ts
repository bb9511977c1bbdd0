/** What a limiter knows of a lease id, as data. */
export type RememberedLease<Hold> =
  | HeldLease<Hold>
  | { readonly state: 'completed' | 'denied'; readonly forgetAt: number }

export interface HeldLease<Hold> {
  readonly state: 'held'
  readonly reservedAt: number
  /** When the last of its holds ends. */
  readonly endsAt: number
  readonly holds: readonly Hold[]
  readonly forgetAt: number
}

/** The same in memory. */
export interface LeaseRecord<Hold> {
  readonly state: 'held' | 'completed' | 'denied'
  /** Only of one that holds. */
  readonly reservedAt: number
  readonly endsAt: number
  readonly holds: readonly Hold[]
  readonly forgetAt: number
}

/** How many of the others are looked at when one comes in: more than come in, so all are seen in time. */
const SWEPT_EACH_TIME = 2

/**
 * Lease ids and what became of them, each until its time to be forgotten, at most `max` of them; then the
 * oldest go first (LIMIT-10). Two iterators walk the map for good: one throws out what is over, the other
 * points at the oldest. Asking the map for its first entry each time would pass over every entry that
 * was deleted before it.
 */
export class RememberedLeases<Hold> {
  readonly #leases = new Map<string, LeaseRecord<Hold>>()
  readonly #max: number
  readonly #onForgotten: ((id: string) => void) | null
  #sweep = this.#leases.entries()
  #oldest = this.#leases.keys()

  constructor(max: number, onForgotten: ((id: string) => void) | null = null) {
    this.#max = max
    this.#onForgotten = onForgotten
  }

  get(id: string, nowMs: number): LeaseRecord<Hold> | undefined {
    const lease = this.#leases.get(id)
    if (lease === undefined || nowMs < lease.forgetAt) return lease
    // Or it would keep its old age if it came again.
    this.forget(id)
    return undefined
  }

  forget(id: string): void {
    if (this.#leases.delete(id)) this.#onForgotten?.(id)
  }

  /** An id that `get` does not know. */
  add(id: string, lease: LeaseRecord<Hold>, nowMs: number): void {
    this.#leases.set(id, lease)
    this.#forgetSome(nowMs)
  }

  /** Another record for an id that `get` knows; it keeps its age. */
  replace(id: string, lease: LeaseRecord<Hold>): void {
    this.#leases.set(id, lease)
  }

  /** All that is remembered, oldest first. */
  *entries(nowMs: number): IterableIterator<[string, LeaseRecord<Hold>]> {
    for (const entry of this.#leases) if (nowMs < entry[1].forgetAt) yield entry
  }

  /** What is over goes when it is seen; where there are too many, the oldest go, and there is no need to look. */
  #forgetSome(nowMs: number): void {
    if (this.#leases.size > this.#max) {
      this.#forgetOldest()
      return
    }
    for (let i = 0; i < SWEPT_EACH_TIME; i++) {
      const { done, value } = this.#sweep.next()
      if (done) this.#sweep = this.#leases.entries()
      else if (nowMs >= value[1].forgetAt) this.forget(value[0])
    }
  }

  #forgetOldest(): void {
    while (this.#leases.size > this.#max) {
      const { done, value } = this.#oldest.next()
      if (done) this.#oldest = this.#leases.keys()
      else this.forget(value)
    }
  }
}
