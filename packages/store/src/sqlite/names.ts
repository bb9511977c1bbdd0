import { createHash } from 'node:crypto'
import { invariant } from '@fairlead/core'
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

/** An id, or a caller's id and a tx_hash behind it, of a job that is on its way into the tables. */
interface NewName extends RowAt {
  readonly length: number
  /** What never changes about the job. */
  readonly facts: RowAt
  /** Another one with the same number. */
  next: NewName | null
}

/** Those that are not in the table of names yet, or came there with the rows that are being carried. */
export class NewNames {
  readonly #names: Names
  #fresh = new Map<number, NewName>()
  /** Of the carrying that goes on: they are forgotten all at once, when it is committed. */
  #leaving = new Map<number, NewName>()

  constructor(names: Names) {
    this.#names = names
  }

  /** Adds one under its number, unless it is there. */
  add(number: number, { bytes, at }: RowAt, length: number, facts: RowAt): boolean {
    const first = this.#fresh.get(number) ?? null
    const before = this.#leaving.get(number) ?? null
    if (find(first, bytes, at, length) !== null) return false
    if (find(before, bytes, at, length) !== null) return false
    this.#fresh.set(number, { bytes, at, length, facts, next: first })
    return true
  }

  /** The facts of the job that has it. */
  factsOf(given: Uint8Array): RowAt | null {
    const number = this.#names.of(given)
    for (const names of [this.#fresh, this.#leaving]) {
      const found = find(names.get(number) ?? null, given, 0, given.length)
      if (found !== null) return found.facts
    }
    return null
  }

  /** A carrying begins: what is there goes when it is over. */
  leave(): void {
    this.#leaving = this.#fresh
    this.#fresh = new Map()
  }

  /** What was there when the carrying began is in the table. */
  forgetLeft(): void {
    this.#leaving = new Map()
  }

  clear(): void {
    this.#fresh = new Map()
    this.#leaving = new Map()
  }
}

function find(
  first: NewName | null,
  bytes: Uint8Array,
  at: number,
  length: number,
): NewName | null {
  for (let name = first; name !== null; name = name.next) {
    if (isSame(name, bytes, at, length)) return name
  }
  return null
}

function isSame(name: NewName, bytes: Uint8Array, at: number, length: number): boolean {
  if (name.length !== length) return false
  return name.bytes.compare(bytes, at, at + length, name.at, name.at + length) === 0
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
