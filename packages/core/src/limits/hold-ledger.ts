import { type ExactInt, minus, plus } from '../encoding/exact-int.ts'

/** Below this length nothing is tidied up. */
const TIDY_FROM = 64

/**
 * What is held, by the time at which it ends. Holds that end together are one entry, so a rolling window
 * has at most 65 and a fixed one has one. Entries are in order of their end; almost every change is at
 * the last one, because time goes forward.
 */
export class HoldLedger {
  /** Entry i is over at `#ends[i]`; those before `#head` are gone. */
  #ends: number[] = []
  #amounts: ExactInt[] = []
  #head = 0
  /** Entries that were freed to nothing before their end. */
  #empty = 0
  #held: ExactInt = 0

  get held(): ExactInt {
    return this.#held
  }

  /** What is held at a time, without what has ended by then; nothing changes. */
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
      // At the very end unless the window became shorter.
      this.#ends.splice(at, 0, end)
      this.#amounts.splice(at, 0, amount)
      return
    }
    const before = this.#amounts[at] as ExactInt
    if (before === 0) this.#empty--
    this.#amounts[at] = plus(before, amount)
  }

  /** Gives back a part of what ends at `end`; what has already ended is not there to be given back. */
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

  /** Drops all that has ended by now. */
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

  /** When at least `amount` of what is held at a time will have ended; null if that much is not held. */
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

  /** The place of the first entry that ends at `end` or later. */
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
