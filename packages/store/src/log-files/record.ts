import { crc32 } from 'node:zlib'
import type { LogRecord } from '@fairlead/core/internal'

/**
 * A record in a segment:
 *
 *     0 crc   4 length of the body   8 batch (6 bytes)   16 generation   20 digest   24 chain   28 unsynced   32 body
 *
 * The checksum covers everything behind it and begins with the id of the store and the segment's generation, so
 * that what an earlier use of the file left there, or another log, is never valid. `chain` is the checksum of the
 * record before it: a record that was written behind a lost one fits behind no other. `unsynced` is the number of
 * records before this one that were not known to be synced when it was written.
 */
export const RECORD_HEAD_BYTES = 32
const AT = { crc: 0, length: 4, batch: 8, generation: 16, digest: 20, chain: 24, unsynced: 28 }
/** Records begin at multiples of this, so that a search for records need not try every byte. */
const ALIGNED_BYTES = 8
const PADDING = Buffer.alloc(ALIGNED_BYTES)

export const BODY_BYTES_MAX = 512 * 1_048_576

/** The beginning of every checksum in a segment. */
export interface RecordSeed {
  readonly crc: number
  /** Its last 32 bits. */
  readonly generation: number
}

export interface FoundRecord extends LogRecord {
  readonly crc: number
  readonly chain: number
  /** The newest batch that was known to be synced when this record was written. */
  readonly synced: number
  readonly at: number
  /** Where the next record begins. */
  readonly end: number
}

export function seedOf(storeId: Uint8Array, generation: number): RecordSeed {
  return { crc: crc32(seedBytes(generation), crc32(storeId)), generation: generation % 2 ** 32 }
}

/** The place that a record takes. */
export function recordBytes({ body }: LogRecord): number {
  return Math.ceil((RECORD_HEAD_BYTES + body.length) / ALIGNED_BYTES) * ALIGNED_BYTES
}

export interface EncodedRecord {
  readonly buffers: readonly Uint8Array[]
  readonly crc: number
}

export function encodeRecord(
  record: LogRecord,
  { seed, chain, synced }: { seed: RecordSeed; chain: number; synced: number },
): EncodedRecord {
  const { batch, digest, body } = record
  const head = Buffer.alloc(RECORD_HEAD_BYTES)
  head.writeUInt32LE(body.length, AT.length)
  head.writeUIntLE(batch, AT.batch, 6)
  head.writeUInt32LE(seed.generation, AT.generation)
  head.writeUInt32LE(digest, AT.digest)
  head.writeUInt32LE(chain, AT.chain)
  head.writeUInt32LE(batch - 1 - synced, AT.unsynced)
  const headCrc = crc32(head.subarray(AT.length), seed.crc)
  // zlib forgets the checksum so far where it is given no bytes.
  const crc = body.length === 0 ? headCrc : crc32(body, headCrc)
  head.writeUInt32LE(crc, AT.crc)
  const padding = recordBytes(record) - RECORD_HEAD_BYTES - body.length
  return { buffers: [head, body, PADDING.subarray(0, padding)], crc }
}

/** The whole record at a place; null if there is none. `base` is where the content begins in its segment. */
export function decodeRecord(
  content: Buffer,
  at: number,
  { seed, base = 0 }: { readonly seed: RecordSeed; readonly base?: number },
): FoundRecord | null {
  const claimed = claimedRecord(content, at, seed)
  if (claimed === null || at + claimed.bytes > content.length) return null
  const { batch, length, bytes } = claimed
  const crc = content.readUInt32LE(at + AT.crc)
  const covered = content.subarray(at + AT.length, at + RECORD_HEAD_BYTES + length)
  if (crc32(covered, seed.crc) !== crc) return null
  return {
    batch,
    digest: content.readUInt32LE(at + AT.digest),
    body: content.subarray(at + RECORD_HEAD_BYTES, at + RECORD_HEAD_BYTES + length),
    crc,
    chain: content.readUInt32LE(at + AT.chain),
    synced: batch - 1 - content.readUInt32LE(at + AT.unsynced),
    at: base + at,
    end: base + at + bytes,
  }
}

/** The first bytes of a record, whole or not; null if no record of this generation begins here. */
export function claimedRecord(
  content: Buffer,
  at: number,
  seed: RecordSeed,
): { readonly batch: number; readonly length: number; readonly bytes: number } | null {
  if (at + RECORD_HEAD_BYTES > content.length) return null
  if (content.readUInt32LE(at + AT.generation) !== seed.generation) return null
  const length = content.readUInt32LE(at + AT.length)
  if (length > BODY_BYTES_MAX) return null
  const bytes = Math.ceil((RECORD_HEAD_BYTES + length) / ALIGNED_BYTES) * ALIGNED_BYTES
  return { batch: content.readUIntLE(at + AT.batch, 6), length, bytes }
}

/** The next whole record at or after a place, wherever it is. Content and place are aligned as records are. */
export function searchRecord(
  content: Buffer,
  from: number,
  { seed, base = 0 }: { readonly seed: RecordSeed; readonly base?: number },
): FoundRecord | null {
  const words = new Uint32Array(content.buffer, content.byteOffset, content.length >>> 2)
  // As the machine reads these bytes, in its own order.
  const [wanted] = new Uint32Array(seedBytes(seed.generation).slice(0, 4).buffer)
  const last = content.length - RECORD_HEAD_BYTES
  for (let at = from; at <= last; at += ALIGNED_BYTES) {
    if (words[(at + AT.generation) >>> 2] !== wanted) continue
    const found = decodeRecord(content, at, { seed, base })
    if (found !== null) return found
  }
  return null
}

function seedBytes(generation: number): Uint8Array {
  const bytes = Buffer.alloc(8)
  bytes.writeUIntLE(generation, 0, 6)
  return new Uint8Array(bytes)
}
