import { createHash } from 'node:crypto'
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

/** Those that are not in the table of names yet. */
export class NewNames {
  readonly #names: Names
  readonly #byNumber = new Map<number, NewName>()

  constructor(names: Names) {
    this.#names = names
  }

  /** Adds one, unless it is there. */
  add({ bytes, at }: RowAt, length: number, facts: RowAt): boolean {
    const number = this.#names.of(bytes, at, length)
    const first = this.#byNumber.get(number) ?? null
    if (first !== null && find(first, bytes, at, length) !== null) return false
    this.#byNumber.set(number, { bytes, at, length, facts, next: first })
    return true
  }

  /** The facts of the job that has it. */
  factsOf(given: Uint8Array): RowAt | null {
    const first = this.#byNumber.get(this.#names.of(given)) ?? null
    return find(first, given, 0, given.length)?.facts ?? null
  }

  /** One of them with its number, for the table. */
  named(job: number, at: RowAt, length: number): NamedJob {
    return { name: this.#names.of(at.bytes, at.at, length), job, at, length }
  }

  /** It is in the table. */
  delete({ name: number, at: { bytes, at }, length }: NamedJob): void {
    const rest: NewName[] = []
    for (let name = this.#byNumber.get(number) ?? null; name !== null; name = name.next) {
      if (!isSame(name, bytes, at, length)) rest.push(name)
    }
    const chain = rest.reduceRight<NewName | null>(
      (next, name) => Object.assign(name, { next }),
      null,
    )
    if (chain === null) this.#byNumber.delete(number)
    else this.#byNumber.set(number, chain)
  }

  clear(): void {
    this.#byNumber.clear()
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

/** A job under one of its names, and where that lies in full. */
export interface NamedJob {
  readonly name: number
  readonly job: number
  readonly at: RowAt
  readonly length: number
}

/** In the order in which they lie in their table. */
export function byName(a: NamedJob, b: NamedJob): number {
  return a.name - b.name || a.job - b.job
}
