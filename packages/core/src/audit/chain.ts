import { fromHex, toHex } from '../encoding/bytes.ts'
import {
  appendCborMap,
  CBOR_DEPTH_MAX,
  CborFloat,
  type CborMap,
  type CborValue,
  encodeCbor,
} from '../encoding/cbor.ts'
import { hashInput } from '../encoding/hash.ts'
import { isPlainObject } from '../encoding/plain-object.ts'
import { FairleadError, invalidParams } from '../errors.ts'

/** An event before it enters the log. */
export interface AuditRecord {
  readonly at: number
  readonly actor: string
  readonly action: string
  readonly subject: string
  /** A map without floats. */
  readonly details: CborMap
}

export interface AuditEntry extends AuditRecord {
  readonly seq: number
  readonly prevHash: string
  readonly hash: string
}

/** The end of a log: the number and hash of its last entry. */
export interface AuditHead {
  readonly seq: number
  readonly hash: string
}

export const EMPTY_AUDIT: AuditHead = { seq: 0, hash: `0x${'00'.repeat(32)}` }

/** The next entry of a log (AUDIT-1). */
export function appendAudit(head: AuditHead, record: AuditRecord): AuditEntry {
  const { at, actor, action, subject, details } = record
  const seq = head.seq + 1
  const prevHash = head.hash
  const hash = toHex(auditHash(hashBytes(prevHash), auditBytes(seq, record)))
  return { seq, at, actor, action, subject, details, prevHash, hash }
}

/** The bytes that an entry's hash covers beside the previous hash: `cbor({seq, at, actor, …})`. */
function auditBytes(seq: number, record: AuditRecord): Uint8Array {
  return encodeCbor(hashedPart(seq, record))
}

/** In canonical order. */
const HASHED_KEYS = ['at', 'seq', 'actor', 'action', 'details', 'subject'] as const

/** Writes the same bytes into a buffer; see `appendCborMap`. */
export function appendAuditBytes(
  seq: number,
  record: AuditRecord,
  buffer: Buffer<ArrayBuffer>,
  at: number,
): ReturnType<typeof appendCborMap> {
  return appendCborMap(HASHED_KEYS, hashedPart(seq, record), buffer, at)
}

function hashedPart(
  seq: number,
  record: AuditRecord,
): { readonly [Key in (typeof HASHED_KEYS)[number]]: CborValue } {
  const { at, actor, action, subject, details } = record
  refuseOdd(record)
  return { at, seq, actor, action, details, subject }
}

/** `SHA3(prev_hash || bytes)`. */
function auditHash(prevHash: Uint8Array, bytes: Uint8Array): Uint8Array {
  return hashInput().raw(prevHash).raw(bytes).digest()
}

/** Replaces the previous hash in place by the hash of an entry with these bytes. */
export function moveAuditHash(hash: Uint8Array, bytes: Uint8Array): void {
  hashInput().raw(hash).raw(bytes).digestTo(hash)
}

/**
 * Returns the seq due at the first place where seq, prev_hash or hash is wrong, or null if the chain holds from
 * `head` on (AUDIT-2).
 */
export function brokenSeq(
  entries: Iterable<AuditEntry>,
  head: AuditHead = EMPTY_AUDIT,
): number | null {
  let last = head
  for (const entry of entries) {
    const due = last.seq + 1
    const holds =
      entry.seq === due && entry.prevHash === last.hash && entry.hash === hashOrNull(entry)
    if (!holds) return due
    last = entry
  }
  return null
}

function hashBytes(hash: string): Uint8Array {
  const bytes = fromHex(hash)
  if (bytes?.length !== 32) throw invalidParams('prev_hash', '32 bytes as 0x hex')
  return bytes
}

/** An entry without an encoding is as broken as one with a wrong hash. */
function hashOrNull(entry: AuditEntry): string | null {
  try {
    return toHex(auditHash(hashBytes(entry.prevHash), auditBytes(entry.seq, entry)))
  } catch (error) {
    if (error instanceof FairleadError && error.code === 'InvalidParams') return null
    throw error
  }
}

function refuseOdd({ at, details }: AuditRecord): void {
  if (!Number.isSafeInteger(at)) throw invalidParams('at', 'whole milliseconds')
  if (!isPlainObject(details)) throw invalidParams('details', 'a map')
  refuseFloats(details, 0)
}

/** Two implementations may print the same float differently, so a durable log contains none. */
function refuseFloats(value: CborValue, depth: number): void {
  if (value instanceof CborFloat || (typeof value === 'number' && !Number.isInteger(value))) {
    throw invalidParams('details', 'a map without floats; write amounts as integers')
  }
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return
  if (depth >= CBOR_DEPTH_MAX)
    throw invalidParams('details', `nesting of at most ${CBOR_DEPTH_MAX}`)
  if (Array.isArray(value)) for (const item of value) refuseFloats(item as CborValue, depth + 1)
  else {
    const map = value as CborMap
    for (const key in map) refuseFloats(map[key] as CborValue, depth + 1)
  }
}
