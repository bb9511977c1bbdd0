import { type ExactInt, minus, plus } from '../encoding/exact-int.ts'

/** A shorter list is not tidied up. */
const TIDY_FROM = 64

/**
 * The held amounts by the time at which they end. Holds that end together share an entry, so a rolling window has
 * at most 65 entries and a fixed window has one. Entries are ordered by their end. Almost every change affects the
 * last entry, because time moves forward.
 */
export class HoldLedger {
  /** Entry i ends at `#ends[i]`; entries before `#head` have ended. */
  #ends: number[] = []
  #amounts: ExactInt[] = []
  #head = 0
  /** The number of entries that were freed completely before their end. */
  #empty = 0
  #held: ExactInt = 0

  get held(): ExactInt {
    return this.#held
  }

  /** The amount that is held at `nowMs`, without holds that have ended by then. Changes nothing. */
  heldAt(nowMs: number): ExactInt {
    let held = this.#held
    for (let i = this.#head; i < this.#ends.length && (this.#ends[i] as number) <= nowMs; i++) {
      held = minus(held, this.#amounts[i] as ExactInt)
    }
    return held
  }

  add(end: number, amount: ExactInt): void {
    this.#held = plus(this.#held, amount)
    const at = this.#find(end)
    if (this.#ends[at] !== end) {
      // This is the very end, unless the window became shorter.
      this.#ends.splice(at, 0, end)
      this.#amounts.splice(at, 0, amount)
      return
    }
    const before = this.#amounts[at] as ExactInt
    if (before === 0) this.#empty--
    this.#amounts[at] = plus(before, amount)
  }

  /** Gives back a part of the hold that ends at `end`. A hold that has ended has nothing left to give back. */
  free(end: number, amount: ExactInt): void {
    const at = this.#find(end)
    if (this.#ends[at] !== end) return
    this.#held = minus(this.#held, amount)
    const left = minus(this.#amounts[at] as ExactInt, amount)
    this.#amounts[at] = left
    if (left !== 0) return
    this.#empty++
    if (this.#empty > TIDY_FROM && 2 * this.#empty > this.#ends.length - this.#head) this.#tidy()
  }

  /** Drops all holds that have ended. */
  expire(nowMs: number): void {
    const ends = this.#ends
    let head = this.#head
    if (head === ends.length || (ends[head] as number) > nowMs) return
    while (head < ends.length && (ends[head] as number) <= nowMs) {
      const amount = this.#amounts[head] as ExactInt
      if (amount === 0) this.#empty--
      else this.#held = minus(this.#held, amount)
      head++
    }
    this.#head = head
    if (head === ends.length || (head > TIDY_FROM && 2 * head > ends.length)) this.#tidy()
  }

  /** When at least `amount` of the held amount will have ended; null if less than that is held. */
  freeAt(amount: ExactInt, nowMs: number): number | null {
    let freed: ExactInt = 0
    for (let i = this.#head; i < this.#ends.length; i++) {
      if ((this.#ends[i] as number) <= nowMs) continue
      freed = plus(freed, this.#amounts[i] as ExactInt)
      if (freed >= amount) return this.#ends[i] as number
    }
    return null
  }

  entries(): [end: number, amount: ExactInt][] {
    const all = this.#ends.map((end, i): [number, ExactInt] => [end, this.#amounts[i] as ExactInt])
    return all.slice(this.#head).filter(([, amount]) => amount !== 0)
  }

  #tidy(): void {
    const kept = this.entries()
    this.#ends = kept.map(([end]) => end)
    this.#amounts = kept.map(([, amount]) => amount)
    this.#head = 0
    this.#empty = 0
  }

  /** The index of the first entry that ends at `end` or later. */
  #find(end: number): number {
    const ends = this.#ends
    let high = ends.length
    const last = ends[high - 1]
    if (last === undefined || last < end) return high
    if (last === end) return high - 1
    let low = this.#head
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ends[middle] as number) < end) low = middle + 1
      else high = middle
    }
    return low
  }
}
