import { sha3_256 } from '@noble/hashes/sha3.js'
import { bytesOfHex } from '../../text/bytes.ts'

const WORD = 4

/**
 * The order in which a round asks its providers, from its seed (MATCH-5): sorted by id, then a Fisher–Yates shuffle
 * whose dice are a hash chain. Written anew from the rule, so that the page checks the server and does not repeat it.
 */
export function shuffledBySeed(ids: readonly string[], seed: string): string[] {
  const order = [...ids].sort()
  const words = wordsOf(bytesOfHex(seed))
  for (let i = 0; i < order.length - 1; i++) {
    const j = i + draw(order.length - i, words)
    const moved = order[i] as string
    order[i] = order[j] as string
    order[j] = moved
  }
  return order
}

/** Uniform: a word in the last, incomplete stretch is skipped. */
function draw(m: number, words: Generator<number, never>): number {
  const limit = 2 ** 32 - (2 ** 32 % m)
  for (;;) {
    const word = words.next().value
    if (word < limit) return word % m
  }
}

function* wordsOf(seed: Uint8Array): Generator<number, never> {
  for (let counter = 0; ; counter++) {
    const input = new Uint8Array(seed.length + WORD)
    input.set(seed)
    new DataView(input.buffer).setUint32(seed.length, counter)
    const block = sha3_256(input)
    const view = new DataView(block.buffer, block.byteOffset, block.length)
    for (let at = 0; at < block.length; at += WORD) yield view.getUint32(at)
  }
}
