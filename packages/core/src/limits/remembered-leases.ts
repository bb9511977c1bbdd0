import { LeaseIds } from './lease-ids.ts'

/** A limiter's record of a lease id, as data. */
export type RememberedLease<Hold> = HeldLease<Hold> | EndedLease

export interface HeldLease<Hold> {
  readonly state: 'held'
  readonly reservedAt: number
  /** When the last of its holds ends. */
  readonly endsAt: number
  readonly holds: readonly Hold[]
  readonly forgetAt: number
}

export interface EndedLease {
  readonly state: 'completed' | 'denied'
  readonly forgetAt: number
}

/** A slot stores an index into this list. */
const STATES: readonly RememberedLease<never>['state'][] = ['held', 'completed', 'denied']
const HELD = STATES.indexOf('held')

/** How many other ids are checked for each added id. It is more than one, so that all are checked in time. */
const SWEPT_EACH_TIME = 2
/** How many are checked when there are too many: an id that is due goes before the oldest one that is not. */
const SWEPT_WHEN_FULL = 1_024
const SLOTS_MIN = 64
const TEXT_MIN = 1_024

/**
 * Lease ids and their states, each until it is due to be forgotten. At most `max` are kept; beyond that the oldest
 * go first (LIMIT-10). Only a held lease is an object: these are few, and ended ones are many.
 */
export class RememberedLeases<Hold> {
  readonly #max: number
  readonly #onForgotten: ((id: string) => void) | null
  #ids = new LeaseIds(SLOTS_MIN, TEXT_MIN)
  /** When the id at each slot of `#ids` is due to be forgotten. */
  #forgetAt = new Float64Array(SLOTS_MIN)
  /** The index into `STATES` for each slot. */
  #states = new Uint8Array(SLOTS_MIN)
  #held: (HeldLease<Hold> | null)[] = Array(SLOTS_MIN).fill(null)
  /** No id is due before this time, according to the last complete round of checks. */
  #noneOverBefore = 0
  /** The earliest due time that the current round has seen so far. */
  #earliestSeen = Number.POSITIVE_INFINITY

  constructor(max: number, onForgotten: ((id: string) => void) | null = null) {
    this.#max = max
    this.#onForgotten = onForgotten
  }

  get(id: string, nowMs: number): RememberedLease<Hold> | undefined {
    const slot = this.#ids.find(id)
    if (slot < 0) return undefined
    if (nowMs < (this.#forgetAt[slot] as number)) return this.#leaseAt(slot)
    // Otherwise the id would keep its old age if it came again.
    this.#forget(slot)
    return undefined
  }

  /** Adds an id that `get` does not know. */
  add(id: string, lease: RememberedLease<Hold>, nowMs: number): void {
    if (!this.#ids.hasRoomFor(id)) this.#makeRoom(id, nowMs)
    this.#put(this.#ids.add(id), lease)
    this.#forgetSome(nowMs)
  }

  /** Replaces the record of an id that `get` knows. The id keeps its age. */
  replace(id: string, lease: RememberedLease<Hold>): void {
    this.#put(this.#ids.find(id), lease)
  }

  /** All remembered ids, oldest first. */
  *entries(nowMs: number): IterableIterator<[string, RememberedLease<Hold>]> {
    for (const slot of this.#ids.taken()) {
      if (nowMs < (this.#forgetAt[slot] as number)) {
        yield [this.#ids.idAt(slot), this.#leaseAt(slot)]
      }
    }
  }

  /** The leases that hold something at a time, in no order. An id is only read if it is asked for. */
  *held(
    nowMs: number,
  ): IterableIterator<{ readonly lease: HeldLease<Hold>; readonly id: () => string }> {
    for (let slot = 0; slot < this.#held.length; slot++) {
      const lease = this.#held[slot]
      if (lease == null || nowMs >= lease.endsAt) continue
      yield { lease, id: () => this.#ids.idAt(slot) }
    }
  }

  #leaseAt(slot: number): RememberedLease<Hold> {
    const held = this.#held[slot]
    if (held != null) return held
    const state = STATES[this.#states[slot] as number] as EndedLease['state']
    return { state, forgetAt: this.#forgetAt[slot] as number }
  }

  #put(slot: number, lease: RememberedLease<Hold>): void {
    this.#forgetAt[slot] = lease.forgetAt
    if (lease.forgetAt < this.#noneOverBefore) this.#noneOverBefore = lease.forgetAt
    if (lease.forgetAt < this.#earliestSeen) this.#earliestSeen = lease.forgetAt
    this.#states[slot] = STATES.indexOf(lease.state)
    this.#held[slot] = lease.state === 'held' ? lease : null
  }

  #forget(slot: number): void {
    const id = this.#onForgotten === null ? '' : this.#ids.idAt(slot)
    this.#ids.remove(slot)
    if (this.#states[slot] === HELD) this.#held[slot] = null
    this.#onForgotten?.(id)
  }

  /** Forgets ids that the check finds due. If there are too many and none is due, the oldest goes. */
  #forgetSome(nowMs: number): void {
    if (this.#ids.size <= this.#max) {
      for (let i = 0; i < SWEPT_EACH_TIME; i++) this.#look(nowMs)
      return
    }
    for (let i = 0; i < SWEPT_WHEN_FULL && nowMs >= this.#noneOverBefore; i++) {
      this.#look(nowMs)
      if (this.#ids.size <= this.#max) return
    }
    this.#forget(this.#ids.oldest())
  }

  /** Checks the next id in turn. */
  #look(nowMs: number): void {
    const { rounds } = this.#ids
    const slot = this.#ids.inTurn()
    if (this.#ids.rounds !== rounds) {
      this.#noneOverBefore = this.#earliestSeen
      this.#earliestSeen = Number.POSITIVE_INFINITY
    }
    if (slot < 0) return
    const forgetAt = this.#forgetAt[slot] as number
    if (nowMs >= forgetAt) this.#forget(slot)
    else if (forgetAt < this.#earliestSeen) this.#earliestSeen = forgetAt
  }

  /** Copies the ids that are not due, in order of age, to where there is room for up to three times as many. */
  #makeRoom(id: string, nowMs: number): void {
    let textUnits = id.length
    for (const slot of this.#ids.taken()) {
      if (nowMs >= (this.#forgetAt[slot] as number)) this.#forget(slot)
      else textUnits += this.#ids.lengthAt(slot)
    }
    const roomy = Math.min(3 * (this.#ids.size + 1), 1.5 * (this.#max + 1))
    const slots = powerOfTwo(SLOTS_MIN, roomy)
    // As much text per slot as the present ids have, so that both rings are full at the same time.
    const ids = new LeaseIds(
      slots,
      powerOfTwo(TEXT_MIN, (textUnits / (this.#ids.size + 1)) * slots),
    )
    const forgetAt = new Float64Array(slots)
    const states = new Uint8Array(slots)
    const held: (HeldLease<Hold> | null)[] = Array(slots).fill(null)
    for (const from of this.#ids.taken()) {
      const to = ids.addFrom(this.#ids, from)
      forgetAt[to] = this.#forgetAt[from] as number
      states[to] = this.#states[from] as number
      held[to] = this.#held[from] as HeldLease<Hold> | null
    }
    this.#ids = ids
    this.#noneOverBefore = 0
    this.#earliestSeen = Number.POSITIVE_INFINITY
    this.#forgetAt = forgetAt
    this.#states = states
    this.#held = held
  }
}

function powerOfTwo(from: number, atLeast: number): number {
  let power = from
  while (power < atLeast) power *= 2
  return power
}
