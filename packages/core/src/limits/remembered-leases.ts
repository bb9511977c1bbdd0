import { LeaseIds } from './lease-ids.ts'

/** What a limiter knows of a lease id, as data. */
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

/** As stored at a slot. */
const STATES: readonly RememberedLease<never>['state'][] = ['held', 'completed', 'denied']
const HELD = STATES.indexOf('held')

/** How many of the others are looked at when one comes in: more than come in, so all are seen in time. */
const SWEPT_EACH_TIME = 2
/** How many where there are too many, and some may be over: those go before the oldest that is not. */
const SWEPT_WHEN_FULL = 1_024
const SLOTS_MIN = 64
const TEXT_MIN = 1_024

/**
 * Lease ids and what became of them, each until its time to be forgotten, at most `max` of them; then the
 * oldest go first (LIMIT-10). Only one that holds is an object: there are few of these, and many that ended.
 */
export class RememberedLeases<Hold> {
  readonly #max: number
  readonly #onForgotten: ((id: string) => void) | null
  #ids = new LeaseIds(SLOTS_MIN, TEXT_MIN)
  /** What is known of the id at each slot of `#ids`. */
  #forgetAt = new Float64Array(SLOTS_MIN)
  /** Which of `STATES`. */
  #states = new Uint8Array(SLOTS_MIN)
  #held: (HeldLease<Hold> | null)[] = Array(SLOTS_MIN).fill(null)
  /** Nothing is over before this time, as far as the last round of looking at all has shown. */
  #noneOverBefore = 0
  /** The same, of what this round has shown so far. */
  #earliestSeen = Number.POSITIVE_INFINITY

  constructor(max: number, onForgotten: ((id: string) => void) | null = null) {
    this.#max = max
    this.#onForgotten = onForgotten
  }

  get(id: string, nowMs: number): RememberedLease<Hold> | undefined {
    const slot = this.#ids.find(id)
    if (slot < 0) return undefined
    if (nowMs < (this.#forgetAt[slot] as number)) return this.#leaseAt(slot)
    // Or it would keep its old age if it came again.
    this.#forget(slot)
    return undefined
  }

  /** An id that `get` does not know. */
  add(id: string, lease: RememberedLease<Hold>, nowMs: number): void {
    if (!this.#ids.hasRoomFor(id)) this.#makeRoom(id, nowMs)
    this.#put(this.#ids.add(id), lease)
    this.#forgetSome(nowMs)
  }

  /** Another record for an id that `get` knows; it keeps its age. */
  replace(id: string, lease: RememberedLease<Hold>): void {
    this.#put(this.#ids.find(id), lease)
  }

  /** All that is remembered, oldest first. */
  *entries(nowMs: number): IterableIterator<[string, RememberedLease<Hold>]> {
    for (const slot of this.#ids.taken()) {
      if (nowMs < (this.#forgetAt[slot] as number)) {
        yield [this.#ids.idAt(slot), this.#leaseAt(slot)]
      }
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

  /** What is over goes when it is seen; where there are too many and nothing is, the oldest goes. */
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

  /** At the next one in turn. */
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

  /** Copies all that is not over, in order of age, to where there is room for three times as many. */
  #makeRoom(id: string, nowMs: number): void {
    let textUnits = id.length
    for (const slot of this.#ids.taken()) {
      if (nowMs >= (this.#forgetAt[slot] as number)) this.#forget(slot)
      else textUnits += this.#ids.lengthAt(slot)
    }
    const roomy = Math.min(3 * (this.#ids.size + 1), 1.5 * (this.#max + 1))
    const slots = powerOfTwo(SLOTS_MIN, roomy)
    // As much text for each slot as those have that are there: one ring is full when the other is.
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
