import { createHash, createHmac, hash } from 'node:crypto'
import { asBuffer } from './bytes.ts'
import { invariant } from './errors.ts'

/** A field of `H`: text is hashed as UTF-8, an integer as its uvarint, bytes as they are. */
export type HashField = string | number | bigint | Uint8Array

/** SHA3-256. */
export function sha3(data: Uint8Array): Uint8Array {
  return hash('sha3-256', data, 'buffer')
}

/** `H(tag, f1, …, fn)`: SHA3-256 over the tag and the fields, each behind its length (HASH-2). */
export function taggedHash(tag: string, ...fields: readonly HashField[]): Uint8Array {
  return hash('sha3-256', tagged(tag, fields), 'buffer')
}

/** `taggedHash` as `0x` hex, the form in which ids are kept. */
export function taggedHashHex(tag: string, ...fields: readonly HashField[]): string {
  return `0x${hash('sha3-256', tagged(tag, fields), 'hex')}`
}

/** Unsigned LEB128 of 0 … 2^64 − 1. */
export function uvarint(n: number | bigint): Uint8Array {
  const out = Buffer.allocUnsafe(10)
  return out.subarray(0, writeUvarint(out, 0, n))
}

/** SHA-256, as hex without `0x`: session tie breakers and idempotency keys are defined so. */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}

/** HMAC-SHA-256, as hex without `0x`. */
export function hmacSha256Hex(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text, 'utf8').digest('hex')
}

// Reused between calls: an id is a few hundred bytes, and allocating it costs as much as hashing it.
let scratch = Buffer.allocUnsafe(1024)

function tagged(tag: string, fields: readonly HashField[]): Uint8Array {
  let at = writePrefixed(0, tag)
  for (const field of fields) at = writePrefixed(at, field)
  return scratch.subarray(0, at)
}

function writePrefixed(at: number, field: HashField): number {
  if (typeof field === 'string') {
    const bytes = Buffer.byteLength(field, 'utf8')
    reserve(at + 10 + bytes)
    const start = writeUvarint(scratch, at, bytes)
    return start + scratch.write(field, start, 'utf8')
  }
  if (typeof field === 'object') {
    reserve(at + 10 + field.length)
    const start = writeUvarint(scratch, at, field.length)
    scratch.set(field, start)
    return start + field.length
  }
  // An integer takes at most ten bytes, so its length always fits the one byte in front of it.
  reserve(at + 11)
  const end = writeUvarint(scratch, at + 1, field)
  scratch[at] = end - at - 1
  return end
}

function reserve(bytes: number): void {
  if (bytes <= scratch.length) return
  const larger = Buffer.allocUnsafe(2 * bytes)
  asBuffer(scratch).copy(larger)
  scratch = larger
}

function writeUvarint(out: Uint8Array, at: number, n: number | bigint): number {
  if (typeof n === 'bigint' && n > 0xffff_ffffn) {
    invariant(n < 1n << 64n, 'a uvarint is at most 64 bits')
    let rest = n
    let end = at
    while (rest > 0x7fn) {
      out[end++] = Number(rest & 0x7fn) | 0x80
      rest >>= 7n
    }
    out[end++] = Number(rest)
    return end
  }
  let rest = Number(n)
  invariant(Number.isSafeInteger(rest) && rest >= 0, 'a uvarint is a non-negative integer')
  let end = at
  while (rest > 0x7f) {
    out[end++] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  out[end++] = rest
  return end
}
