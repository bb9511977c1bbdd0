import { sha3 } from '../encoding/hash.ts'
import { idBytes, type Seed } from '../encoding/ids.ts'
import { invariant } from '../errors.ts'

/**
 * The dice of a round: 32-bit words from a hash chain of the seed (MATCH-5). `draw(m)` is uniform
 * over 0 … m − 1, because words in the last, incomplete stretch of length m are skipped.
 */
export class SeededDice {
  readonly #input = Buffer.alloc(36)
  #block: Uint8Array = new Uint8Array(0)
  #counter = 0
  #at = 0

  constructor(seed: Seed) {
    const bytes = idBytes(seed)
    invariant(bytes.length === 32, 'a seed is of 32 bytes')
    this.#input.set(bytes)
  }

  draw(m: number): number {
    const limit = 2 ** 32 - (2 ** 32 % m)
    for (;;) {
      const word = this.#word()
      if (word < limit) return word % m
    }
  }

  #word(): number {
    if (this.#at === this.#block.length) {
      this.#input.writeUInt32BE(this.#counter++, 32)
      this.#block = sha3(this.#input)
      this.#at = 0
    }
    const b = this.#block
    const at = this.#at
    this.#at += 4
    const high = (b[at] as number) * 2 ** 24
    return (
      high + ((b[at + 1] as number) << 16) + ((b[at + 2] as number) << 8) + (b[at + 3] as number)
    )
  }
}

/**
 * A Fisher–Yates shuffle of a list, evaluated only as far as it is read. A round that is done after three
 * providers has drawn three numbers, for ten providers or a million (MATCH-5).
 */
export class SeededShuffle<T> {
  readonly #sorted: readonly T[]
  readonly #dice: SeededDice
  readonly #order: T[] = []
  /** Index → item, for items after the evaluated part that a swap has moved. */
  readonly #moved = new Map<number, T>()

  /** `sorted` must be in order of id, or two stores would shuffle the same providers differently. */
  constructor(sorted: readonly T[], seed: Seed) {
    this.#sorted = sorted
    this.#dice = new SeededDice(seed)
  }

  get length(): number {
    return this.#sorted.length
  }

  /** The item at an index of the shuffled order. */
  at(index: number): T {
    while (this.#order.length <= index) this.#step()
    return this.#order[index] as T
  }

  /** The whole order. */
  all(): readonly T[] {
    if (this.length > 0) this.at(this.length - 1)
    return this.#order
  }

  #step(): void {
    const i = this.#order.length
    const rest = this.length - i
    invariant(rest > 0, 'the shuffle has no such place')
    const j = rest > 1 ? i + this.#dice.draw(rest) : i
    const chosen = this.#peek(j)
    if (j !== i) this.#moved.set(j, this.#peek(i))
    this.#moved.delete(i)
    this.#order.push(chosen)
  }

  #peek(index: number): T {
    const moved = this.#moved.get(index)
    return moved === undefined ? (this.#sorted[index] as T) : moved
  }
}
