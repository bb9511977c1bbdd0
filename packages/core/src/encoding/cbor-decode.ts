import { asBuffer } from './bytes.ts'
import {
  CBOR_DEPTH_MAX,
  CborFloat,
  type CborMap,
  type CborValue,
  fromHalf,
  refusedCbor,
  toHalf,
} from './cbor-value.ts'

/** The value of a canonical encoding. Anything else is refused with `InvalidParams`. */
export function decodeCbor(bytes: Uint8Array): CborValue {
  const reader = new Reader(bytes)
  const value = reader.value(0)
  if (reader.at !== bytes.length) throw refusedCbor('trailing bytes', reader.at)
  return value
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
        return this.#copy(argument, start)
      case 3:
        return this.#text(argument, start)
      case 4:
        return this.#array(argument, start, depth)
      case 5:
        return this.#map(argument, start, depth)
      default:
        throw refusedCbor('a tag', start)
    }
  }

  #array(count: number | bigint, start: number, depth: number): CborValue[] {
    if (depth >= CBOR_DEPTH_MAX) throw refusedCbor(`nested deeper than ${CBOR_DEPTH_MAX}`, start)
    const items: CborValue[] = []
    // Read one by one, so that a claimed length never allocates more than the input holds.
    for (let i = 0; i < count; i++) items.push(this.value(depth + 1))
    return items
  }

  #map(count: number | bigint, start: number, depth: number): CborMap {
    if (depth >= CBOR_DEPTH_MAX) throw refusedCbor(`nested deeper than ${CBOR_DEPTH_MAX}`, start)
    const map: Record<string, CborValue> = {}
    let last = 0
    let lastEnd = 0
    for (let i = 0; i < count; i++) {
      const keyStart = this.at
      if (this.#bytes[keyStart] !== undefined && (this.#bytes[keyStart] as number) >> 5 !== 3) {
        throw refusedCbor('a map key that is not text', keyStart)
      }
      const key = this.value(depth + 1) as string
      if (i > 0) this.#checkOrder(last, lastEnd, keyStart)
      last = keyStart
      lastEnd = this.at
      setOwn(map, key, this.value(depth + 1))
    }
    return map
  }

  /** Checks that the key just read comes after the one before it (CBOR-3). */
  #checkOrder(last: number, lastEnd: number, start: number): void {
    const bytes = this.#bytes
    let a = last
    let b = start
    // The first bytes tell the length of a key, so neither of two keys can be a prefix of the other.
    while (a < lastEnd && bytes[a] === bytes[b]) {
      a++
      b++
    }
    if (a === lastEnd) throw refusedCbor('a duplicate map key', start)
    if ((bytes[a] as number) > (bytes[b] as number)) {
      throw refusedCbor('map keys that are not in order', start)
    }
  }

  #text(bytes: number | bigint, start: number): string {
    const encoded = this.#take(bytes, start)
    try {
      return strictUtf8.decode(encoded)
    } catch {
      throw refusedCbor('text that is not UTF-8', start)
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
        throw refusedCbor('a simple value other than false, true and null', start)
    }
  }

  #float(value: number, width: 2 | 4 | 8, start: number): CborFloat {
    if (!Number.isFinite(value)) throw refusedCbor('NaN or an infinity', start)
    const shortest = toHalf(value) !== null ? 2 : Math.fround(value) === value ? 4 : 8
    if (shortest !== width) throw refusedCbor('a float that is not in its shortest form', start)
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
        throw refusedCbor('an indefinite or reserved length', start)
    }
    if (argument < least)
      throw refusedCbor('an integer or length that is not in its shortest form', start)
    return argument
  }

  #byte(): number {
    const byte = this.#bytes[this.at]
    if (byte === undefined) throw refusedCbor('the end of the input where a value was due', this.at)
    this.at++
    return byte
  }

  /** Allocated in Node's pool. */
  #copy(count: number | bigint, start: number): Uint8Array {
    const taken = this.#take(count, start)
    const copy = Buffer.allocUnsafe(taken.length)
    taken.copy(copy)
    return copy
  }

  #take(count: number | bigint, start: number): Buffer {
    if (count > this.#bytes.length - this.at)
      throw refusedCbor('a value longer than the input', start)
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
