import { asBuffer, utf8Length } from './bytes.ts'
import { FairleadError } from './errors.ts'

/**
 * Canonical CBOR: RFC 8949 §4.2.1 core deterministic encoding, and nothing else (CBOR-1 … CBOR-5).
 *
 * It is the wire format and the input of every hash, so there is exactly one encoding of a value and
 * the decoder refuses all others. A JavaScript number that is whole is an integer, any other is a
 * float; `CborFloat` makes a float of a whole number, and is what every float decodes to.
 */
export type CborValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | CborFloat
  | readonly CborValue[]
  | CborMap
export type CborMap = { readonly [key: string]: CborValue }

/** A float even where its value is whole: 1.0 and 1 are two values in CBOR. */
export class CborFloat {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

/** Deeper nesting is refused: it has no use, and the recursion must end before the stack does. */
export const CBOR_DEPTH_MAX = 256

/** The one canonical encoding of a value, or `InvalidParams` if it has none. */
export function encodeCbor(value: CborValue): Uint8Array {
  length = 0
  write(value, 0)
  return Uint8Array.prototype.slice.call(out, 0, length)
}

/** The value of a canonical encoding. Anything else is refused with `InvalidParams`. */
export function decodeCbor(bytes: Uint8Array): CborValue {
  const reader = new Reader(bytes)
  const value = reader.value(0)
  if (reader.at !== bytes.length) throw refused('trailing bytes', reader.at)
  return value
}

// One buffer for all calls; encoding is synchronous and the result is copied out.
let out = Buffer.allocUnsafe(4096)
let length = 0

function write(value: CborValue, depth: number): void {
  if (typeof value === 'string') return writeText(value)
  if (typeof value === 'number') {
    return Number.isInteger(value) ? writeInteger(value) : writeFloat(value)
  }
  if (typeof value === 'boolean') return writeByte(value ? 0xf5 : 0xf4)
  if (typeof value === 'bigint') return writeBigInteger(value)
  if (value === null) return writeByte(0xf6)
  if (typeof value !== 'object') throw refused(`a ${typeof value} has no encoding`)
  if (value instanceof CborFloat) return writeFloat(value.value)
  if (value instanceof Uint8Array) return writeBytes(value)
  if (depth >= CBOR_DEPTH_MAX) throw refused(`nested deeper than ${CBOR_DEPTH_MAX}`)
  if (Array.isArray(value)) {
    writeHead(4, value.length)
    for (const item of value) write(item as CborValue, depth + 1)
    return
  }
  const map = value as CborMap
  const keys = sortedKeys(map)
  writeHead(5, keys.length)
  for (const key of keys) {
    writeText(key)
    write(map[key] as CborValue, depth + 1)
  }
}

function writeInteger(n: number): void {
  if (!Number.isSafeInteger(n)) throw refused('a number beyond ±(2^53 − 1) may have been rounded')
  if (n >= 0) writeHead(0, n)
  else writeHead(1, -1 - n)
}

function writeBigInteger(n: bigint): void {
  const argument = n >= 0n ? n : -1n - n
  if (argument >= 1n << 64n) throw refused('an integer is −2^64 … 2^64 − 1')
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
    out.writeBigUInt64BE(BigInt(argument), length + 1)
    length += 9
  }
}

function writeText(text: string): void {
  if (text.length < 24 && writeShortAscii(text)) return
  if (!text.isWellFormed()) throw refused('text with a lone surrogate')
  const bytes = utf8Length(text)
  writeHead(3, bytes)
  reserve(bytes)
  length += out.write(text, length, 'utf8')
}

/** Keys and names are mostly like this, and three native calls cost more than the loop. */
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

function writeBytes(bytes: Uint8Array): void {
  writeHead(2, bytes.length)
  reserve(bytes.length)
  out.set(bytes, length)
  length += bytes.length
}

/** The shortest of f16, f32 and f64 that keeps the value (CBOR-2). */
function writeFloat(value: number): void {
  if (!Number.isFinite(value)) throw refused('NaN and infinities have no encoding')
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

/** The f16 bits of a value that f16 keeps exactly, else null. Subnormals included. */
function toHalf(value: number): number | null {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  const size = Math.abs(value)
  if (size === 0) return sign
  if (size > 65504) return null
  if (size < 2 ** -14) {
    const fraction = size * 2 ** 24
    return Number.isInteger(fraction) ? sign | fraction : null
  }
  let exponent = 0
  let significand = size
  while (significand >= 2) {
    significand /= 2
    exponent++
  }
  while (significand < 1) {
    significand *= 2
    exponent--
  }
  const fraction = (significand - 1) * 1024
  return Number.isInteger(fraction) ? sign | ((exponent + 15) << 10) | fraction : null
}

function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

class Reader {
  at = 0
  readonly #bytes: Buffer

  constructor(bytes: Uint8Array) {
    this.#bytes = asBuffer(bytes)
  }

  value(depth: number): CborValue {
    const start = this.at
    const head = this.#byte()
    const major = head >> 5
    if (major === 7) return this.#simple(head, start)
    const argument = this.#argument(head & 0x1f, start)
    switch (major) {
      case 0:
        return argument
      case 1:
        return typeof argument === 'bigint' || argument === Number.MAX_SAFE_INTEGER
          ? -1n - BigInt(argument)
          : -1 - argument
      case 2:
        return Uint8Array.prototype.slice.call(this.#take(argument, start))
      case 3:
        return this.#text(argument, start)
      case 4:
        return this.#array(argument, start, depth)
      case 5:
        return this.#map(argument, start, depth)
      default:
        throw refused('a tag', start)
    }
  }

  #array(count: number | bigint, start: number, depth: number): CborValue[] {
    if (depth >= CBOR_DEPTH_MAX) throw refused(`nested deeper than ${CBOR_DEPTH_MAX}`, start)
    const items: CborValue[] = []
    // Read one by one, so that a claimed length never allocates more than the input holds.
    for (let i = 0; i < count; i++) items.push(this.value(depth + 1))
    return items
  }

  #map(count: number | bigint, start: number, depth: number): CborMap {
    if (depth >= CBOR_DEPTH_MAX) throw refused(`nested deeper than ${CBOR_DEPTH_MAX}`, start)
    const map: Record<string, CborValue> = {}
    let last: Buffer | null = null
    for (let i = 0; i < count; i++) {
      const keyStart = this.at
      if (this.#bytes[keyStart] !== undefined && (this.#bytes[keyStart] as number) >> 5 !== 3) {
        throw refused('a map key that is not text', keyStart)
      }
      const key = this.value(depth + 1) as string
      const encoded = this.#bytes.subarray(keyStart, this.at)
      const order = last === null ? -1 : Buffer.compare(last, encoded)
      if (order === 0) throw refused('a duplicate map key', keyStart)
      if (order > 0) throw refused('map keys that are not in order', keyStart)
      last = encoded
      setOwn(map, key, this.value(depth + 1))
    }
    return map
  }

  #text(bytes: number | bigint, start: number): string {
    const encoded = this.#take(bytes, start)
    try {
      return strictUtf8.decode(encoded)
    } catch {
      throw refused('text that is not UTF-8', start)
    }
  }

  #simple(head: number, start: number): CborValue {
    switch (head) {
      case 0xf4:
        return false
      case 0xf5:
        return true
      case 0xf6:
        return null
      case 0xf9:
        return this.#float(fromHalf(this.#take(2, start).readUInt16BE(0)), 2, start)
      case 0xfa:
        return this.#float(this.#take(4, start).readFloatBE(0), 4, start)
      case 0xfb:
        return this.#float(this.#take(8, start).readDoubleBE(0), 8, start)
      default:
        throw refused('a simple value other than false, true and null', start)
    }
  }

  #float(value: number, width: 2 | 4 | 8, start: number): CborFloat {
    if (!Number.isFinite(value)) throw refused('NaN or an infinity', start)
    const shortest = toHalf(value) !== null ? 2 : Math.fround(value) === value ? 4 : 8
    if (shortest !== width) throw refused('a float that is not in its shortest form', start)
    return new CborFloat(value)
  }

  #argument(info: number, start: number): number | bigint {
    if (info < 24) return info
    let argument: number | bigint
    let least: number
    switch (info) {
      case 24:
        argument = this.#byte()
        least = 24
        break
      case 25:
        argument = this.#take(2, start).readUInt16BE(0)
        least = 0x100
        break
      case 26:
        argument = this.#take(4, start).readUInt32BE(0)
        least = 0x1_0000
        break
      case 27: {
        const wide = this.#take(8, start).readBigUInt64BE(0)
        argument = wide <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(wide) : wide
        least = 0x1_0000_0000
        break
      }
      default:
        throw refused('an indefinite or reserved length', start)
    }
    if (argument < least)
      throw refused('an integer or length that is not in its shortest form', start)
    return argument
  }

  #byte(): number {
    const byte = this.#bytes[this.at]
    if (byte === undefined) throw refused('the end of the input where a value was due', this.at)
    this.at++
    return byte
  }

  #take(count: number | bigint, start: number): Buffer {
    if (count > this.#bytes.length - this.at) throw refused('a value longer than the input', start)
    const end = this.at + Number(count)
    const taken = this.#bytes.subarray(this.at, end)
    this.at = end
    return taken
  }
}

/** Assignment, but `__proto__` becomes a key like any other. */
function setOwn(map: Record<string, CborValue>, key: string, value: CborValue): void {
  if (key !== '__proto__') {
    map[key] = value
    return
  }
  Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true })
}

function refused(found: string, at?: number): FairleadError {
  const place = at === undefined ? '' : ` at byte ${at}`
  return new FairleadError('InvalidParams', `canonical CBOR expected, got ${found}${place}`, {
    field: 'cbor',
    ...(at === undefined ? {} : { at }),
  })
}
