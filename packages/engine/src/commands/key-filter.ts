import { randomInt } from 'node:crypto'
import type { KeyPrints, Tables } from '@fairlead/core/internal'

/** Each shard grows alone, so no growth takes long. */
const SHARDS = 256
const START_SLOTS = 64
/** A shard grows when more of its slots than this are taken, in percent. */
const FULL_PERCENT = 60
/** Keys in one read: other reads wait for it. */
const PAGE = 4_000
const EMPTY = 0
/** Odd, so that no two fingerprints become one; random, so that no caller can choose keys that crowd a shard. */
const FACTOR = randomInt(2 ** 31) * 2 + 1

/** Characters of an id: 0x and its digits. */
const ID_LENGTH = 66
/** The digits of its first four bytes. */
const FIRST = [2, 10] as const

/**
 * Tells that a key is certainly new, so that most enqueues ask nobody (KEYS-2). It holds 32 bits of every key, in at
 * most seven bytes, and takes one new key in a thousand for a known one when it has four million.
 */
export class KeyFilter {
  readonly #shards = Array.from({ length: SHARDS }, () => new Shard())
  /** False until the keys of the tables are in it. Until then every key may be known. */
  isComplete = false

  add(key: string): void {
    this.addPrint(fingerprint(key))
  }

  /** A print as the tables give it. */
  addPrint(print: number): void {
    const mixed = Math.imul(print, FACTOR) >>> 0
    this.#shards[mixed >>> 24]?.add(mixed)
  }

  /** Reads the keys of the tables, page by page. Until that is over, or if it fails, every key may be known. */
  async fill(tables: Pick<Tables, 'keyPrints'>, isStopped: () => boolean): Promise<void> {
    for (let after: number | null = 0; after !== null; ) {
      if (isStopped()) return
      const { prints, lastSeq }: KeyPrints = await tables.keyPrints(after, PAGE)
      for (const print of prints) this.addPrint(print)
      after = lastSeq
    }
    this.isComplete = true
  }

  mayHave(key: string): boolean {
    if (!this.isComplete) return true
    const mixed = Math.imul(fingerprint(key), FACTOR) >>> 0
    return this.#shards[mixed >>> 24]?.has(mixed) === true
  }
}

/** A key is a caller's id and the hash of a text that the caller chose. The first four bytes of both, mixed. */
function fingerprint(key: string): number {
  const caller = Number.parseInt(key.slice(...FIRST), 16)
  const chosen = Number.parseInt(key.slice(ID_LENGTH + FIRST[0], ID_LENGTH + FIRST[1]), 16)
  return (caller ^ chosen) >>> 0
}

/** A set of fingerprints with open addressing. */
class Shard {
  #slots = new Uint32Array(START_SLOTS)
  #size = 0

  add(print: number): void {
    if (this.#put(print) && 100 * this.#size > FULL_PERCENT * this.#slots.length) this.#grow()
  }

  has(print: number): boolean {
    return this.#slots[this.#slotOf(print)] !== EMPTY
  }

  #put(print: number): boolean {
    const slot = this.#slotOf(print)
    if (this.#slots[slot] !== EMPTY) return false
    this.#slots[slot] = print || 1
    this.#size++
    return true
  }

  /** The slot that has the fingerprint, or the empty one for it. */
  #slotOf(print: number): number {
    const slots = this.#slots
    const wanted = print || 1
    for (let slot = print % slots.length; ; slot = (slot + 1) % slots.length) {
      const found = slots[slot]
      if (found === wanted || found === EMPTY) return slot
    }
  }

  #grow(): void {
    const before = this.#slots
    this.#slots = new Uint32Array(2 * before.length)
    this.#size = 0
    for (const print of before) if (print !== EMPTY) this.#put(print)
  }
}
