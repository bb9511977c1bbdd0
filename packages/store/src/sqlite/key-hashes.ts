import { createHash } from 'node:crypto'
import { invariant } from '@fairlead/core/internal'
import type { RowAt } from './batch-codec.ts'

export const ID_BYTES = 32
/** An id of a caller and a tx_hash behind it. */
export const KEY_BYTES = 64

/** 2^31 − 1, a prime. */
const PRIME = 2_147_483_647

/**
 * Hashes the keys of a job to 31 bits: its id, the ids of its leases, and caller
 * with tx_hash. Others may have the same hash, so what is found by one is compared.
 *
 * An id is a hash itself, and its first bits do. A tx_hash may be chosen so that thousands begin alike; its
 * hash is a sum of its parts with factors that nobody outside knows, so that two of them meet by
 * chance only, however they were chosen. SHA-256 takes thirty times as long.
 */
export class KeyHasher {
  readonly #factors: readonly number[]

  constructor(secret: Uint8Array) {
    this.#factors = Array.from({ length: KEY_BYTES / 2 }, (_, i) => {
      const random = createHash('sha256').update(secret).update(String(i)).digest()
      return random.readUInt32LE() % PRIME
    })
  }

  /** Of an id, or of a caller's id and a tx_hash behind it. */
  hashOf(bytes: Uint8Array, at = 0, length = bytes.length): number {
    if (length === ID_BYTES) {
      const [a, b, c, d] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]] as const
      return (
        (((a as number) << 23) | ((b as number) << 15) | ((c as number) << 7)) +
        ((d as number) >> 1)
      )
    }
    // Each product is below 2^47 and there are 32 of them, so the sum is exact.
    let sum = 0
    for (let i = 0; i < KEY_BYTES / 2; i++) {
      const part = (bytes[at + 2 * i] as number) * 256 + (bytes[at + 2 * i + 1] as number)
      sum += (this.#factors[i] as number) * part
    }
    return sum % PRIME
  }
}

/** The cells of an entry of a `KeyTable`; the first entry of a bucket leads to the next. */
const ENTRY = { hash: 0, next: 1, buffer: 2, at: 3, length: 4, facts: 5 } as const
const ENTRY_CELLS = 6
const NONE = -1
const TABLE_START = 1_024

/**
 * Ids, and callers' ids with a tx_hash behind them, by their hashes. There may be a million of them for
 * seconds: as objects they would be copied and marked by the collector of garbage again and again, while
 * commits wait, so they are numbers in one piece of memory.
 */
class KeyTable {
  #cells = new Int32Array(TABLE_START * ENTRY_CELLS)
  #firsts = new Int32Array(TABLE_START).fill(NONE)
  /** What the keys lie in. */
  readonly #buffers: Buffer[] = []
  #count = 0

  /** The facts of the job or lease that has a key. */
  factsOf(hash: number, bytes: Uint8Array, at: number, length: number): RowAt | null {
    const cells = this.#cells
    let entry = this.#firsts[hash & (this.#firsts.length - 1)] as number
    for (; entry !== NONE; entry = cells[entry + ENTRY.next] as number) {
      if (cells[entry + ENTRY.hash] !== hash || cells[entry + ENTRY.length] !== length) continue
      const buffer = this.#buffers[cells[entry + ENTRY.buffer] as number] as Buffer
      const from = cells[entry + ENTRY.at] as number
      if (buffer.compare(bytes, at, at + length, from, from + length) !== 0) continue
      return { bytes: buffer, at: cells[entry + ENTRY.facts] as number }
    }
    return null
  }

  add(hash: number, bytes: Buffer, at: number, length: number, factsAt: number): void {
    if (this.#count === this.#firsts.length) this.#grow()
    if (this.#buffers.at(-1) !== bytes) this.#buffers.push(bytes)
    const cells = this.#cells
    const entry = this.#count++ * ENTRY_CELLS
    cells[entry + ENTRY.hash] = hash
    cells[entry + ENTRY.buffer] = this.#buffers.length - 1
    cells[entry + ENTRY.at] = at
    cells[entry + ENTRY.length] = length
    cells[entry + ENTRY.facts] = factsAt
    this.#link(entry)
  }

  #link(entry: number): void {
    const bucket = (this.#cells[entry + ENTRY.hash] as number) & (this.#firsts.length - 1)
    this.#cells[entry + ENTRY.next] = this.#firsts[bucket] as number
    this.#firsts[bucket] = entry
  }

  #grow(): void {
    const cells = new Int32Array(2 * this.#cells.length)
    cells.set(this.#cells)
    this.#cells = cells
    this.#firsts = new Int32Array(2 * this.#firsts.length).fill(NONE)
    for (let i = 0; i < this.#count; i++) this.#link(i * ENTRY_CELLS)
  }
}

/** Keys that are not in the stored table of hashes yet, or came there with the rows that are being written. */
export class NewKeys {
  readonly #hasher: KeyHasher
  #fresh = new KeyTable()
  /** Of the checkpoint that goes on: they are forgotten all at once, when it is committed. */
  #leaving = new KeyTable()

  constructor(hasher: KeyHasher) {
    this.#hasher = hasher
  }

  /** Adds one under its hash, unless it is there; it lies where the facts do that it leads to. */
  add(hash: number, at: number, length: number, { bytes, at: factsAt }: RowAt): boolean {
    if (this.#factsOf(hash, bytes, at, length) !== null) return false
    this.#fresh.add(hash, bytes, at, length, factsAt)
    return true
  }

  /** The facts of the job or lease that has it. */
  factsOf(given: Uint8Array): RowAt | null {
    return this.#factsOf(this.#hasher.hashOf(given), given, 0, given.length)
  }

  #factsOf(hash: number, bytes: Uint8Array, at: number, length: number): RowAt | null {
    const fresh = this.#fresh.factsOf(hash, bytes, at, length)
    return fresh ?? this.#leaving.factsOf(hash, bytes, at, length)
  }

  /** A checkpoint begins: what is there goes when it is over. */
  leave(): void {
    this.#leaving = this.#fresh
    this.#fresh = new KeyTable()
  }

  /** What was there when the checkpoint began is in the table. */
  forgetLeft(): void {
    this.#leaving = new KeyTable()
  }

  clear(): void {
    this.#fresh = new KeyTable()
    this.#leaving = new KeyTable()
  }
}

/** More jobs than this cannot be sorted together. */
const SORTED_MAX = 2 ** 22

/** Jobs under the hashes of their keys, in the order of the stored table. */
export class SortedKeyHashes {
  readonly #hasher: KeyHasher
  #keys: number[] = []
  #jobs: number[] = []
  #sorted = new Float64Array()
  #taken = 0

  constructor(hasher: KeyHasher) {
    this.#hasher = hasher
  }

  get left(): number {
    return this.#keys.length + this.#sorted.length - this.#taken
  }

  add(job: number, { bytes, at }: RowAt, length: number): void {
    invariant(this.#taken === this.#sorted.length, 'hashes are added when the last ones are taken')
    // Hash and index in one number, because numbers are sorted many times as fast as objects.
    this.#keys.push(this.#hasher.hashOf(bytes, at, length) * SORTED_MAX + this.#jobs.length)
    this.#jobs.push(job)
    invariant(
      this.#jobs.length <= SORTED_MAX,
      'no more hashes are in one list than can be sorted together',
    )
  }

  /** The cells of the next ones: hash and job, hash and job. */
  take(most: number): number[] {
    if (this.#keys.length > 0) {
      this.#sorted = Float64Array.from(this.#keys).sort()
      this.#taken = 0
      this.#keys = []
    }
    const cells: number[] = []
    const end = Math.min(this.#sorted.length, this.#taken + most)
    for (; this.#taken < end; this.#taken++) {
      const key = this.#sorted[this.#taken] as number
      const hash = Math.floor(key / SORTED_MAX)
      cells.push(hash, this.#jobs[key - hash * SORTED_MAX] as number)
    }
    if (end === this.#sorted.length) this.clear()
    return cells
  }

  clear(): void {
    this.#keys = []
    this.#jobs = []
    this.#sorted = new Float64Array()
    this.#taken = 0
  }
}
