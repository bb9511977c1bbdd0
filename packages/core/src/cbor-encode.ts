import { utf8Length } from './bytes.ts'
import {
  CBOR_DEPTH_MAX,
  CborFloat,
  type CborMap,
  type CborValue,
  refusedCbor,
  toHalf,
} from './cbor-value.ts'
import { isPlainObject } from './plain-object.ts'

/**
 * The one canonical encoding of a value, or `InvalidParams` if it has none. The bytes of `front` come
 * before it, for what is hashed together with it.
 */
export function encodeCbor(value: CborValue, front?: Uint8Array): Uint8Array {
  length = 0
  try {
    if (front !== undefined) writeRaw(front)
    write(value, 0)
    // A piece of Node's pool, which takes a fifth of the time of memory of its own.
    const encoded = Buffer.allocUnsafe(length)
    out.copy(encoded, 0, 0, length)
    return encoded
  } finally {
    // One huge value must not hold on to its memory for ever.
    if (out.length > BUFFER_KEPT) out = Buffer.allocUnsafe(BUFFER_START)
  }
}

// One buffer for all calls; encoding is synchronous and the result is copied out.
const BUFFER_START = 4_096
const BUFFER_KEPT = 1_048_576
let out = Buffer.allocUnsafe(BUFFER_START)
let length = 0

function write(value: CborValue, depth: number): void {
  if (typeof value === 'string') return writeText(value)
  if (typeof value === 'number') {
    return Number.isInteger(value) ? writeInteger(value) : writeFloat(value)
  }
  if (typeof value === 'boolean') return writeByte(value ? 0xf5 : 0xf4)
  if (typeof value === 'bigint') return writeBigInteger(value)
  if (value === null) return writeByte(0xf6)
  if (typeof value !== 'object') throw refusedCbor(`a value of type ${typeof value}`)
  if (value instanceof CborFloat) return writeFloat(value.value)
  if (value instanceof Uint8Array) return writeBytes(value)
  if (depth >= CBOR_DEPTH_MAX) throw refusedCbor(`nested deeper than ${CBOR_DEPTH_MAX}`)
  if (Array.isArray(value)) {
    writeHead(4, value.length)
    for (const item of value) write(item as CborValue, depth + 1)
    return
  }
  if (!isPlainObject(value)) throw refusedCbor('an object of a class of its own')
  const map = value as CborMap
  const keys = sortedKeys(map)
  writeHead(5, keys.length)
  for (const key of keys) {
    writeText(key)
    write(map[key] as CborValue, depth + 1)
  }
}

function writeInteger(n: number): void {
  if (!Number.isSafeInteger(n))
    throw refusedCbor('a number beyond ±(2^53 − 1), which may have been rounded')
  if (n >= 0) writeHead(0, n)
  else writeHead(1, -1 - n)
}

function writeBigInteger(n: bigint): void {
  const argument = n >= 0n ? n : -1n - n
  if (argument >= 1n << 64n) throw refusedCbor('an integer outside of −2^64 … 2^64 − 1')
  if (argument <= 0xffff_ffffn) return writeHead(n >= 0n ? 0 : 1, Number(argument))
  reserve(9)
  out[length] = n >= 0n ? 0x1b : 0x3b
  out.writeBigUInt64BE(argument, length + 1)
  length += 9
}

/** Major type and argument in the fewest bytes (CBOR-1). */
function writeHead(major: number, argument: number): void {
  reserve(9)
  const type = major << 5
  if (argument < 24) {
    out[length++] = type | argument
  } else if (argument < 0x100) {
    out[length++] = type | 24
    out[length++] = argument
  } else if (argument < 0x1_0000) {
    out[length] = type | 25
    out.writeUInt16BE(argument, length + 1)
    length += 3
  } else if (argument < 0x1_0000_0000) {
    out[length] = type | 26
    out.writeUInt32BE(argument, length + 1)
    length += 5
  } else {
    out[length] = type | 27
    out.writeUInt32BE(Math.floor(argument / 0x1_0000_0000), length + 1)
    out.writeUInt32BE(argument % 0x1_0000_0000, length + 5)
    length += 9
  }
}

function writeText(text: string): void {
  if (text.length <= ASCII_MAX && writeAscii(text)) return
  if (!text.isWellFormed()) throw refusedCbor('text with a lone surrogate')
  const bytes = utf8Length(text)
  writeHead(3, bytes)
  reserve(bytes)
  length += out.write(text, length, 'utf8')
}

/** Keys, names and ids are no longer than this; for longer text native calls are faster. */
const ASCII_MAX = 96

/** Three native calls cost more than the loop. */
function writeAscii(text: string): boolean {
  const count = text.length
  reserve(2 + count)
  const from = length + (count < 24 ? 1 : 2)
  for (let i = 0; i < count; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7f) return false
    out[from + i] = code
  }
  if (count < 24) out[length] = 0x60 | count
  else {
    out[length] = 0x78
    out[length + 1] = count
  }
  length = from + count
  return true
}

function writeBytes(bytes: Uint8Array): void {
  writeHead(2, bytes.length)
  writeRaw(bytes)
}

function writeRaw(bytes: Uint8Array): void {
  reserve(bytes.length)
  out.set(bytes, length)
  length += bytes.length
}

/** The shortest of f16, f32 and f64 that keeps the value (CBOR-2). */
function writeFloat(value: number): void {
  if (!Number.isFinite(value)) throw refusedCbor('NaN or an infinity')
  reserve(9)
  const half = toHalf(value)
  if (half !== null) {
    out[length] = 0xf9
    out.writeUInt16BE(half, length + 1)
    length += 3
  } else if (Math.fround(value) === value) {
    out[length] = 0xfa
    out.writeFloatBE(value, length + 1)
    length += 5
  } else {
    out[length] = 0xfb
    out.writeDoubleBE(value, length + 1)
    length += 9
  }
}

function writeByte(byte: number): void {
  reserve(1)
  out[length++] = byte
}

function reserve(bytes: number): void {
  if (length + bytes <= out.length) return
  const larger = Buffer.allocUnsafe(2 * (length + bytes))
  out.copy(larger, 0, 0, length)
  out = larger
}

/** Keys by their encoded bytes: by length in UTF-8 first, because the head stands in front (CBOR-3). */
function sortedKeys(map: CborMap): string[] {
  const keys = Object.keys(map)
  for (let i = 1; i < keys.length; i++) {
    if (compareKeys(keys[i - 1] as string, keys[i] as string) > 0) return keys.sort(compareKeys)
  }
  return keys
}

function compareKeys(a: string, b: string): number {
  if (isAscii(a) && isAscii(b)) return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0)
  const left = Buffer.from(a, 'utf8')
  const right = Buffer.from(b, 'utf8')
  return left.length - right.length || Buffer.compare(left, right)
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false
  return true
}
