/** Keys that the first part takes; each next one takes twice as many as the one before it. */
const FIRST_KEYS = 2 ** 18
/** A power of two, as the number of keys is, so that a place is found without dividing. */
const BITS_PER_KEY = 32
/** Bits that stand for a key: with these one of some 10,000 keys that are not there is taken for one that is. */
const PLACES = 6
/** All of them are in one block, which is one line of the processor's cache: one look at memory in place of six. */
const BLOCK_BITS = 512
const BLOCK_WORDS = BLOCK_BITS / 32

/** What a filter goes by: 32 bits each of a caller and of a tx_hash, and 32 more of the latter, as signed numbers. */
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
    const { words } = part
    const block = blockOf(key, part)
    for (let i = 0; i < PLACES; i++) {
      const at = bitOf(key, i)
      const word = block + (at >>> 5)
      words[word] = (words[word] as number) | (1 << (at & 31))
    }
  }

  mayHave(key: KeyParts): boolean {
    return this.#parts.some((part) => isIn(part, key))
  }
}

interface Part {
  readonly words: Int32Array
  /** Of the number of a block. */
  readonly mask: number
  left: number
}

function newPart(before: number): Part {
  const keys = FIRST_KEYS * 2 ** before
  const bits = keys * BITS_PER_KEY
  return { words: new Int32Array(bits / 32), mask: bits / BLOCK_BITS - 1, left: keys }
}

function isIn(part: Part, key: KeyParts): boolean {
  const { words } = part
  const block = blockOf(key, part)
  for (let i = 0; i < PLACES; i++) {
    const at = bitOf(key, i)
    if (((words[block + (at >>> 5)] as number) & (1 << (at & 31))) === 0) return false
  }
  return true
}

/** Where its block begins. Callers that choose the same keys are told apart by their ids. */
function blockOf({ caller, tx }: KeyParts, { mask }: Part): number {
  return BLOCK_WORDS * ((tx ^ caller) & mask)
}

/** One of its bits in the block: two halves of what is left of the key, as a start and an odd step. */
function bitOf({ moreTx }: KeyParts, i: number): number {
  return (moreTx + Math.imul(i, (moreTx >>> 16) | 1)) & (BLOCK_BITS - 1)
}
