import { type AuditEntry, decodeCbor, EMPTY_AUDIT, fromHex, toHex } from '@fairlead/core'
import { moveAuditHash } from '@fairlead/core/internal'

/**
 * The journal is stored in blocks of entries. A block begins with the hash before its first entry;
 * each entry is the length of its record, the record as it was hashed (canonical CBOR), and its hash.
 */
const HASH_BYTES = 32
const LENGTH_BYTES = 4
/** Few enough that one entry is found quickly, enough that a block is hardly more than its entries. */
const BLOCK_ENTRIES = 32

export interface Block {
  readonly first: number
  readonly last: number
  readonly entries: Uint8Array
}

/** Where the journal stands, with the hash as bytes. */
export interface JournalEnd {
  readonly seq: number
  readonly hash: Uint8Array
}

export const EMPTY_JOURNAL: JournalEnd = {
  seq: EMPTY_AUDIT.seq,
  hash: fromHex(EMPTY_AUDIT.hash) as Uint8Array,
}

/** Links records to the entry before them and to each other (AUDIT-1). */
export function chainBlocks(
  end: JournalEnd,
  records: readonly Uint8Array[],
): { readonly blocks: readonly Block[]; readonly end: JournalEnd } {
  const blocks: Block[] = []
  let { seq } = end
  const hash = Uint8Array.from(end.hash)
  for (let from = 0; from < records.length; from += BLOCK_ENTRIES) {
    const part = records.slice(from, from + BLOCK_ENTRIES)
    const bytes = part.reduce((sum, record) => sum + LENGTH_BYTES + record.length + HASH_BYTES, 0)
    const entries = Buffer.allocUnsafe(HASH_BYTES + bytes)
    entries.set(hash, 0)
    let at = HASH_BYTES
    for (const record of part) {
      moveAuditHash(hash, record)
      entries.writeUInt32LE(record.length, at)
      entries.set(record, at + LENGTH_BYTES)
      at += LENGTH_BYTES + record.length
      entries.set(hash, at)
      at += HASH_BYTES
    }
    blocks.push({ first: seq + 1, last: seq + part.length, entries })
    seq += part.length
  }
  return { blocks, end: { seq, hash } }
}

/** The entries of a block, oldest first. */
export function* entriesOf(block: Block): Iterable<AuditEntry> {
  const bytes = Buffer.from(block.entries)
  let prevHash = toHex(bytes.subarray(0, HASH_BYTES))
  for (let at = HASH_BYTES; at < bytes.length; ) {
    const from = at + LENGTH_BYTES
    const to = from + bytes.readUInt32LE(at)
    at = to + HASH_BYTES
    const record = decodeCbor(bytes.subarray(from, to)) as unknown as AuditEntry
    const { seq, actor, action, subject, details } = record
    const hash = toHex(bytes.subarray(to, at))
    yield { seq, at: record.at, actor, action, subject, details, prevHash, hash }
    prevHash = hash
  }
}

/** What is left of a block without its entries up to a number; null where nothing is cut or nothing left. */
export function tailOf(block: Block, seq: number): Block | null {
  if (seq < block.first || seq >= block.last) return null
  const bytes = Buffer.from(block.entries)
  let at = HASH_BYTES
  for (let n = block.first; n <= seq; n++) at += LENGTH_BYTES + bytes.readUInt32LE(at) + HASH_BYTES
  // A block begins with the hash before it, which is the last thing of the entry before.
  return { first: seq + 1, last: block.last, entries: bytes.subarray(at - HASH_BYTES) }
}

/** Where the journal stands after its newest block. */
export function endOf(block: Block | null): JournalEnd {
  if (block === null) return EMPTY_JOURNAL
  return { seq: block.last, hash: Uint8Array.from(block.entries.subarray(-HASH_BYTES)) }
}
