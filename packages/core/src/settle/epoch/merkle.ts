import { fromHex, toHex } from '../../encoding/bytes.ts'
import { hashInput } from '../../encoding/hash.ts'

/**
 * A Merkle tree over the lines of a batch (SETTLE-13). Each level holds its hashes one after another, so that a tree of
 * 100,000 lines is a few buffers: it goes to a worker thread and back without a copy for each node.
 */
export interface MerkleTree {
  /** The leaves first, the root last; empty for no lines. */
  readonly levels: readonly Uint8Array[]
}

/** A sibling on the way from a leaf to the root, and the side on which it stands. */
export interface MerkleSibling {
  readonly side: 'left' | 'right'
  readonly hash: string
}

const HASH_BYTES = 32
const LEAF = 0
const NODE = Uint8Array.of(1)

/** The root of nothing. */
export const EMPTY_ROOT = `0x${'00'.repeat(HASH_BYTES)}`

/** Writes the encoding of a line into a buffer; see `appendCborMap`. */
export type AppendLine<Line> = (
  line: Line,
  buffer: Buffer<ArrayBuffer>,
  at: number,
) => { readonly buffer: Buffer<ArrayBuffer>; readonly end: number }

/** The tree over lines, in their order. */
export function merkleTree<Line>(lines: readonly Line[], append: AppendLine<Line>): MerkleTree {
  if (lines.length === 0) return { levels: [] }
  const leaves = new Uint8Array(lines.length * HASH_BYTES)
  lines.forEach((line, i) => {
    leafTo(line, append, leaves.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES))
  })
  const levels: Uint8Array[] = [leaves]
  let below: Uint8Array = leaves
  while (below.length > HASH_BYTES) {
    below = levelAbove(below)
    levels.push(below)
  }
  return { levels }
}

export function merkleRoot({ levels }: MerkleTree): string {
  const top = levels.at(-1)
  return top === undefined ? EMPTY_ROOT : toHex(top)
}

/** The siblings of a leaf, from the leaf up. An odd node moves up without one. */
export function merkleProof({ levels }: MerkleTree, index: number): MerkleSibling[] {
  const siblings: MerkleSibling[] = []
  let place = index
  for (const level of levels.slice(0, -1)) {
    const isRight = place % 2 === 1
    const start = (isRight ? place - 1 : place + 1) * HASH_BYTES
    if (start < level.length) {
      const hash = toHex(level.subarray(start, start + HASH_BYTES))
      siblings.push({ side: isRight ? 'left' : 'right', hash })
    }
    place = Math.floor(place / 2)
  }
  return siblings
}

/** True if a leaf with these siblings leads to the root. */
export function isInTree(
  leaf: Uint8Array,
  siblings: readonly MerkleSibling[],
  root: string,
): boolean {
  let hash = leaf
  for (const { side, hash: other } of siblings) {
    const sibling = fromHex(other)
    if (sibling?.length !== HASH_BYTES) return false
    const [left, right] = side === 'left' ? [sibling, hash] : [hash, sibling]
    hash = hashInput().raw(NODE).raw(left).raw(right).digest()
  }
  return toHex(hash) === root
}

/** The hash of a line. */
export function leafOf<Line>(line: Line, append: AppendLine<Line>): Uint8Array {
  const leaf = new Uint8Array(HASH_BYTES)
  leafTo(line, append, leaf)
  return leaf
}

/** A batch has 200,000 lines, so all are encoded in one place. */
const scratch = Buffer.alloc(1_024)

function leafTo<Line>(line: Line, append: AppendLine<Line>, out: Uint8Array): void {
  scratch[0] = LEAF
  const { buffer, end } = append(line, scratch, 1)
  hashInput().raw(buffer.subarray(0, end)).digestTo(out)
}

function levelAbove(below: Uint8Array): Uint8Array {
  const pair = 2 * HASH_BYTES
  const above = new Uint8Array(Math.ceil(below.length / pair) * HASH_BYTES)
  for (let at = 0, to = 0; at < below.length; at += pair, to += HASH_BYTES) {
    const out = above.subarray(to, to + HASH_BYTES)
    if (at + pair > below.length) out.set(below.subarray(at))
    else
      hashInput()
        .raw(NODE)
        .raw(below.subarray(at, at + pair))
        .digestTo(out)
  }
  return above
}
