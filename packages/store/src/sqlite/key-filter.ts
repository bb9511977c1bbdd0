/** Keys that the first part takes; each next one takes twice as many as the one before it. */
const FIRST_KEYS = 2 ** 18
/** A power of two, as the number of keys is, so that a place is found without dividing. */
const BITS_PER_KEY = 32
/** Bits that stand for a key: with these one of 40,000 keys that are not there is taken for one that is. */
const PLACES = 6

/** What a filter goes by: 32 bits each of a caller and of a tx_hash, and 32 more of the latter. */
export interface KeyParts {
  readonly caller: number
  readonly tx: number
  readonly moreTx: number
}

/**
 * Says of a key whether it may have been added: no is certain, yes is nearly so (a Bloom filter). Four to eight
 * bytes a key, so that the keys of millions of jobs can be at hand.
 */
export class KeyFilter {
  readonly #parts: Part[] = []
  #size = 0

  /** Keys that were added; one that came twice counts twice. */
  get size(): number {
    return this.#size
  }

  add(key: KeyParts): void {
    let part = this.#parts.at(-1)
    if (part === undefined || part.left === 0) {
      part = newPart(this.#parts.length)
      this.#parts.push(part)
    }
    part.left--
    this.#size++
    for (let i = 0; i < PLACES; i++) {
      const at = placeOf(key, i) & part.mask
      part.words[at >>> 5] = (part.words[at >>> 5] as number) | (1 << (at & 31))
    }
  }

  mayHave(key: KeyParts): boolean {
    return this.#parts.some((part) => isIn(part, key))
  }
}

interface Part {
  readonly words: Uint32Array
  readonly mask: number
  left: number
}

function newPart(before: number): Part {
  const keys = FIRST_KEYS * 2 ** before
  const bits = keys * BITS_PER_KEY
  return { words: new Uint32Array(bits / 32), mask: bits - 1, left: keys }
}

function isIn({ words, mask }: Part, key: KeyParts): boolean {
  for (let i = 0; i < PLACES; i++) {
    const at = placeOf(key, i) & mask
    if (((words[at >>> 5] as number) & (1 << (at & 31))) === 0) return false
  }
  return true
}

/** Callers that choose the same keys are told apart by their ids. */
function placeOf({ caller, tx, moreTx }: KeyParts, i: number): number {
  return ((tx ^ caller) + Math.imul(i, moreTx | 1)) | 0
}
