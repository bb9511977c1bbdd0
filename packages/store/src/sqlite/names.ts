import { createHash } from 'node:crypto'
import { invariant } from '@fairlead/core/internal'
import type { RowAt } from './batch-codec.ts'

export const ID_BYTES = 32
/** An id of a caller and a tx_hash behind it. */
export const KEY_BYTES = 64

/** 2^31 − 1, a prime. */
const PRIME = 2_147_483_647

/**
 * Gives the numbers under which a job is found by its id, by the id of one of its leases, or by caller
 * and tx_hash. Others may have the same number, so what is found by one is compared.
 *
 * An id is a hash, and its first bits do. A tx_hash may be chosen so that thousands begin alike; its
 * number is a sum of its parts with factors that nobody outside knows, so that two of them meet by
 * chance only, however they were chosen. A hash in its place takes thirty times as long.
 */
export class Names {
  readonly #factors: readonly number[]

  constructor(secret: Uint8Array) {
    this.#factors = Array.from({ length: KEY_BYTES / 2 }, (_, i) => {
      const random = createHash('sha256').update(secret).update(String(i)).digest()
      return random.readUInt32LE() % PRIME
    })
  }

  /** Of an id, or of a caller's id and a tx_hash behind it. */
  of(bytes: Uint8Array, at = 0, length = bytes.length): number {
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

/** What a name of a table of them has, one after the other; the first with a number leads to the next. */
const NAME = { number: 0, next: 1, buffer: 2, at: 3, length: 4, facts: 5 } as const
const NAME_CELLS = 6
const NONE = -1
const TABLE_START = 1_024

/**
 * Ids, and callers' ids with a tx_hash behind them, by their numbers. There may be a million of them for
 * seconds: as objects they would be copied and marked by the collector of garbage again and again, while
 * commits wait, so they are numbers in one piece of memory.
 */
class NameTable {
  #cells = new Int32Array(TABLE_START * NAME_CELLS)
  #firsts = new Int32Array(TABLE_START).fill(NONE)
  /** What the names lie in. */
  readonly #buffers: Buffer[] = []
  #count = 0

  /** The facts of the job or lease that has a name. */
  factsOf(number: number, bytes: Uint8Array, at: number, length: number): RowAt | null {
    const cells = this.#cells
    let name = this.#firsts[number & (this.#firsts.length - 1)] as number
    for (; name !== NONE; name = cells[name + NAME.next] as number) {
      if (cells[name + NAME.number] !== number || cells[name + NAME.length] !== length) continue
      const buffer = this.#buffers[cells[name + NAME.buffer] as number] as Buffer
      const from = cells[name + NAME.at] as number
      if (buffer.compare(bytes, at, at + length, from, from + length) !== 0) continue
      return { bytes: buffer, at: cells[name + NAME.facts] as number }
    }
    return null
  }

  add(number: number, bytes: Buffer, at: number, length: number, factsAt: number): void {
    if (this.#count === this.#firsts.length) this.#grow()
    if (this.#buffers.at(-1) !== bytes) this.#buffers.push(bytes)
    const cells = this.#cells
    const name = this.#count++ * NAME_CELLS
    cells[name + NAME.number] = number
    cells[name + NAME.buffer] = this.#buffers.length - 1
    cells[name + NAME.at] = at
    cells[name + NAME.length] = length
    cells[name + NAME.facts] = factsAt
    this.#link(name)
  }

  #link(name: number): void {
    const place = (this.#cells[name + NAME.number] as number) & (this.#firsts.length - 1)
    this.#cells[name + NAME.next] = this.#firsts[place] as number
    this.#firsts[place] = name
  }

  #grow(): void {
    const cells = new Int32Array(2 * this.#cells.length)
    cells.set(this.#cells)
    this.#cells = cells
    this.#firsts = new Int32Array(2 * this.#firsts.length).fill(NONE)
    for (let i = 0; i < this.#count; i++) this.#link(i * NAME_CELLS)
  }
}

/** Those that are not in the table of names yet, or came there with the rows that are being carried. */
export class NewNames {
  readonly #names: Names
  #fresh = new NameTable()
  /** Of the carrying that goes on: they are forgotten all at once, when it is committed. */
  #leaving = new NameTable()

  constructor(names: Names) {
    this.#names = names
  }

  /** Adds one under its number, unless it is there; it lies where the facts do that it leads to. */
  add(number: number, at: number, length: number, { bytes, at: factsAt }: RowAt): boolean {
    if (this.#factsOf(number, bytes, at, length) !== null) return false
    this.#fresh.add(number, bytes, at, length, factsAt)
    return true
  }

  /** The facts of the job or lease that has it. */
  factsOf(given: Uint8Array): RowAt | null {
    return this.#factsOf(this.#names.of(given), given, 0, given.length)
  }

  #factsOf(number: number, bytes: Uint8Array, at: number, length: number): RowAt | null {
    const fresh = this.#fresh.factsOf(number, bytes, at, length)
    return fresh ?? this.#leaving.factsOf(number, bytes, at, length)
  }

  /** A carrying begins: what is there goes when it is over. */
  leave(): void {
    this.#leaving = this.#fresh
    this.#fresh = new NameTable()
  }

  /** What was there when the carrying began is in the table. */
  forgetLeft(): void {
    this.#leaving = new NameTable()
  }

  clear(): void {
    this.#fresh = new NameTable()
    this.#leaving = new NameTable()
  }
}

/** More places than this a list of names in order cannot have. */
const PLACES = 2 ** 22

/** Jobs under their names, in the order of their table. */
export class NamesInOrder {
  readonly #names: Names
  #keys: number[] = []
  #jobs: number[] = []
  #sorted = new Float64Array()
  #taken = 0

  constructor(names: Names) {
    this.#names = names
  }

  get left(): number {
    return this.#keys.length + this.#sorted.length - this.#taken
  }

  add(job: number, { bytes, at }: RowAt, length: number): void {
    invariant(this.#taken === this.#sorted.length, 'names are added when the last ones are taken')
    // Name and place in one number, because numbers are sorted many times as fast as objects.
    this.#keys.push(this.#names.of(bytes, at, length) * PLACES + this.#jobs.length)
    this.#jobs.push(job)
    invariant(this.#jobs.length <= PLACES, 'no more names are in one list than it has places')
  }

  /** The cells of the next ones: name and job, name and job. */
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
      const name = Math.floor(key / PLACES)
      cells.push(name, this.#jobs[key - name * PLACES] as number)
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
