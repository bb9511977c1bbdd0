import { hexLength, utf8Length, writeHex } from './bytes.ts'
import {
  CBOR_DEPTH_MAX,
  CborFloat,
  CborHex,
  type CborMap,
  type CborValue,
  refusedCbor,
  toHalf,
} from './cbor-value.ts'
import { isPlainObject } from './plain-object.ts'

/** The one canonical encoding of a value, or `InvalidParams` if it has none. */
export function encodeCbor(value: CborValue): Uint8Array {
  const piece = begin()
  try {
    write(value, 0)
    return end(piece)
  } finally {
    out = piece
  }
}

/** Encodes a map with these keys, which must be in canonical order. */
export function encodeCborMap<Key extends string>(
  keys: readonly Key[],
  map: { readonly [Each in Key]: CborValue },
): Uint8Array {
  const piece = begin()
  try {
    writeKnown(keys, map)
    return end(piece)
  } finally {
    out = piece
  }
}

/**
 * Encodes such a map into a buffer from `at` on. Returns the end and the buffer: the caller's, or a larger one
 * that begins with the same content.
 */
export function appendCborMap<Key extends string>(
  keys: readonly Key[],
  map: { readonly [Each in Key]: CborValue },
  buffer: Buffer<ArrayBuffer>,
  at: number,
): { readonly buffer: Buffer<ArrayBuffer>; readonly end: number } {
  const own = out
  out = buffer
  length = at
  firstText = ''
  try {
    writeKnown(keys, map)
    return { buffer: out, end: length }
  } finally {
    out = own
  }
}

// Values are encoded one after another into pieces of memory, and the results are views of these. A piece lives as
// long as any of its values. Most values die together, and a copy would cost as much as the encoding.
const PIECE = 16_384
/** With less room left than this, the next value starts a new piece. */
const ROOM_MIN = 512
let out = Buffer.allocUnsafeSlow(PIECE)
/** Where in the piece the next value begins; the bytes before it belong to other values. */
let used = 0
/** The end of the current value so far. */
let length = 0
/** The first long text of the value and its place. An id that occurs again is copied from there. */
let firstText = ''
let firstAt = 0
let firstEnd = 0

/** Begins a value where most values have enough room; returns its piece. */
function begin(): Buffer<ArrayBuffer> {
  if (PIECE - used < ROOM_MIN) {
    out = Buffer.allocUnsafeSlow(PIECE)
    used = 0
  }
  length = used
  firstText = ''
  return out
}

/** Returns the value that was written since `begin`. */
function end(piece: Buffer<ArrayBuffer>): Uint8Array {
  const start = used
  // A value that outgrew the piece gets memory of its own, of exactly its length.
  if (out !== piece) return Uint8Array.from(out.subarray(start, length))
  used = length
  return new Uint8Array(piece.buffer, start, length - start)
}

function writeKnown<Key extends string>(
  keys: readonly Key[],
  map: { readonly [Each in Key]: CborValue },
): void {
  writeHead(5, keys.length)
  for (const key of keys) {
    writeText(key)
    write(map[key], 1)
  }
}

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
  if (value instanceof CborHex) return writeHexBytes(value.hex)
  if (depth >= CBOR_DEPTH_MAX) throw refusedCbor(`nested deeper than ${CBOR_DEPTH_MAX}`)
  if (Array.isArray(value)) {
    writeHead(4, value.length)
    for (const item of value) write(item as CborValue, depth + 1)
    return
  }
  if (!isPlainObject(value)) throw refusedCbor('an object of a class of its own')
  writeMap(value as CborMap, depth)
}

/**
 * Sorts keys by their encoded bytes (CBOR-3). Most maps are sorted already, which is checked while they are
 * written.
 */
function writeMap(map: CborMap, depth: number): void {
  const keys = Object.keys(map)
  const start = length
  if (writeEntries(map, keys, depth)) return
  length = start
  firstText = ''
  writeEntries(map, keys.sort(compareKeys), depth)
}

/** False if a key comes before the previous one. */
function writeEntries(map: CborMap, keys: readonly string[], depth: number): boolean {
  writeHead(5, keys.length)
  let before = -1
  for (const key of keys) {
    const at = length
    writeText(key)
    if (before >= 0 && !isAscending(before, at)) return false
    before = at
    write(map[key] as CborValue, depth + 1)
  }
  return true
}

/** True if the first of two encoded keys comes first. The length is at the front and usually decides. */
function isAscending(a: number, b: number): boolean {
  for (let i = 0; b + i < length; i++) {
    const left = out[a + i] as number
    const right = out[b + i] as number
    if (left !== right) return left < right
  }
  return true
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
  if (text.length < 24 ? writeShortAscii(text) : writeAscii(text)) return
  if (!text.isWellFormed()) throw refusedCbor('text with a lone surrogate')
  const bytes = utf8Length(text)
  writeHead(3, bytes)
  reserve(bytes)
  length += out.write(text, length, 'utf8')
}

/** Most keys and names are short ASCII, and three native calls cost more than the loop. */
function writeShortAscii(text: string): boolean {
  reserve(24)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7f) return false
    out[length + 1 + i] = code
  }
  out[length] = 0x60 | text.length
  length += 1 + text.length
  return true
}

/** Suits ids: one native call. The text is ASCII if it took as many bytes as it has characters. */
function writeAscii(text: string): boolean {
  const start = length
  if (text === firstText) {
    reserve(firstEnd - firstAt)
    out.copyWithin(start, firstAt, firstEnd)
    length += firstEnd - firstAt
    return true
  }
  writeHead(3, text.length)
  reserve(3 * text.length)
  const written = out.write(text, length, 'utf8')
  if (written !== text.length) {
    length = start
    return false
  }
  length += written
  if (firstText === '') {
    firstText = text
    firstAt = start
    firstEnd = length
  }
  return true
}

function writeBytes(bytes: Uint8Array): void {
  writeHead(2, bytes.length)
  writeRaw(bytes)
}

function writeHexBytes(hex: string): void {
  const bytes = hexLength(hex)
  writeHead(2, bytes)
  reserve(bytes)
  if (!writeHex(hex, out, length)) throw refusedCbor('bytes that are not 0x and lower-case hex')
  length += bytes
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

/** Compares lengths in UTF-8 first, because the encoded length is at the front. */
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
