import { fromHex, hexLength, utf8Length } from '../encoding/bytes.ts'
import {
  CBOR_DEPTH_MAX,
  CborFloat,
  type CborMap,
  type CborValue,
  encodeCbor,
} from '../encoding/cbor.ts'
import { isPlainObject } from '../encoding/plain-object.ts'
import { readU64 } from '../encoding/u64.ts'
import { FairleadError, invalidParams, limitExceeded } from '../errors.ts'

/**
 * One field of a payload. It turns the written value into the value to encode, or throws a refusal that names the
 * field. A size or count over its cap is `LimitExceeded`, any other problem is `InvalidParams`.
 */
export interface PayloadField {
  /** The value of an absent field; without it the field is required. */
  readonly absent?: CborValue
  /** `cap` is the policy's cap for this field, if it has one. */
  readonly read: (written: unknown, field: string, cap: number) => CborValue
}

/** A canonical payload has every field; unknown fields are refused (ENQUEUE-2). */
export function readPayload(
  written: unknown,
  fields: Readonly<Record<string, PayloadField>>,
  caps: Readonly<Record<string, number>>,
): CborMap {
  if (!isPlainObject(written)) throw invalidParams('payload', 'an object')
  const payload: Record<string, CborValue> = {}
  for (const name in fields) {
    const field = fields[name] as PayloadField
    const value = written[name]
    if (value === undefined) {
      if (field.absent === undefined) throw invalidParams(name, 'a value; the field is required')
      payload[name] = field.absent
    } else payload[name] = field.read(value, name, caps[name] ?? Number.POSITIVE_INFINITY)
  }
  for (const name in written) {
    if (!Object.hasOwn(fields, name)) {
      throw invalidParams(name, `only the fields ${Object.keys(fields).join(', ')}`)
    }
  }
  return payload
}

/** Text of 1 … cap bytes of UTF-8. */
export const text: PayloadField = {
  read(written, field, cap) {
    if (typeof written !== 'string') throw invalidParams(field, 'text')
    if (written === '') throw invalidParams(field, 'text of at least one byte')
    if (!written.isWellFormed()) throw invalidParams(field, 'well-formed Unicode')
    const bytes = utf8Length(written)
    if (bytes > cap) throw limitExceeded(field, cap, bytes)
    return written
  },
}

/** Bytes, given as `0x` lower-case hex or as bytes. */
export function byteString(min: number): PayloadField {
  return {
    read(written, field, cap) {
      if (typeof written === 'string' && isHexLike(written) && hexLength(written) > cap) {
        throw limitExceeded(field, cap, hexLength(written))
      }
      const bytes = typeof written === 'string' ? fromHex(written) : written
      if (!(bytes instanceof Uint8Array)) {
        throw invalidParams(field, '0x and an even number of lower-case hex digits')
      }
      if (bytes.length < min) throw invalidParams(field, `at least ${min} byte`)
      if (bytes.length > cap) throw limitExceeded(field, cap, bytes.length)
      return bytes
    },
  }
}

/** A whole number from 1 to its cap. */
export const count: PayloadField = {
  read(written, field, cap) {
    if (!Number.isSafeInteger(written) || (written as number) < 1) {
      throw invalidParams(field, 'a whole number of at least 1')
    }
    if ((written as number) > cap) throw limitExceeded(field, cap, written as number)
    return written as number
  },
}

/** An optional unsigned 32-bit number; absent is 0. */
export const u32Hint: PayloadField = {
  absent: 0,
  read(written, field) {
    if (
      Number.isSafeInteger(written) &&
      (written as number) >= 0 &&
      (written as number) < 2 ** 32
    ) {
      return written as number
    }
    throw invalidParams(field, 'a whole number from 0 to 2^32 − 1')
  },
}

/** Milliseconds as a u64. */
export const timeMs: PayloadField = {
  read(written, field) {
    const value = readU64(written)
    if (value === null) throw invalidParams(field, 'milliseconds since 1970 as a whole number')
    return value
  },
}

/** 0 … 2, rounded to float32 and always a float, so that 1 and 1.0 give one id (ENQUEUE-3). */
export const temperature: PayloadField = {
  absent: new CborFloat(0),
  read(written, field) {
    const given = written instanceof CborFloat ? written.value : written
    const value = typeof given === 'number' ? Math.fround(given) : Number.NaN
    if (!(value >= 0 && value <= 2)) throw invalidParams(field, 'a number from 0 to 2')
    return new CborFloat(value === 0 ? 0 : value)
  },
}

/** A JSON object, capped by the length of its canonical CBOR (ENQUEUE-4). */
export const jsonObject: PayloadField = {
  read(written, field, cap) {
    if (!isPlainObject(written)) throw invalidParams(field, 'an object')
    longest = 0
    itemsLeft = ITEMS_FACTOR * cap
    // The payload around it is one level of nesting.
    const value = readJson(written, field, 1)
    if (itemsLeft < 0) throw limitExceeded(field, cap, ITEMS_FACTOR * cap)
    // Most values are far below the cap and are encoded only once, with their payload.
    if (longest <= cap) return value
    const bytes = encodeNamed(value, field).length
    if (bytes > cap) throw limitExceeded(field, cap, bytes)
    return value
  },
}

/**
 * The maximum encoded length of the current value, counted while it is read. Infinite if it may have no encoding;
 * the encoder then gives the reason.
 */
let longest = 0
const HEAD_MAX = 9
/** Each item takes at least a byte. Reading stops after this multiple of the cap. */
const ITEMS_FACTOR = 2
let itemsLeft = 0

function countText(text: string): void {
  longest += text.isWellFormed() ? HEAD_MAX + 3 * text.length : Number.POSITIVE_INFINITY
}

/** Whole numbers become integers, other numbers floats. Values that JSON lacks are refused. */
function readJson(written: unknown, field: string, depth: number): CborValue {
  // The value is refused regardless of its other content.
  if (--itemsLeft < 0) return null
  if (typeof written === 'string') {
    countText(written)
    return written
  }
  if (written instanceof CborFloat) return readJson(written.value, field, depth)
  longest += HEAD_MAX
  if (typeof written === 'number') {
    if (!Number.isFinite(written)) longest = Number.POSITIVE_INFINITY
    if (!Number.isInteger(written)) return written
    if (!Number.isSafeInteger(written)) {
      throw invalidParams(field, 'whole numbers within ±(2^53 − 1); send larger ones as text')
    }
    return written === 0 ? 0 : written
  }
  if (written === null || typeof written === 'boolean') return written
  if (depth >= CBOR_DEPTH_MAX) throw invalidParams(field, `nesting of at most ${CBOR_DEPTH_MAX}`)
  if (Array.isArray(written)) {
    const copy: CborValue[] = []
    for (let i = 0; i < written.length && itemsLeft >= 0; i++) {
      copy.push(readJson(written[i], field, depth + 1))
    }
    return copy
  }
  if (!isPlainObject(written)) throw invalidParams(field, 'only what JSON can hold')
  const copy: Record<string, CborValue> = {}
  for (const key of Object.keys(written)) {
    if (itemsLeft < 0) break
    countText(key)
    const value = readJson(written[key], field, depth + 1)
    if (key !== '__proto__') copy[key] = value
    // A key like any other here, but an assignment would set the prototype.
    else Object.defineProperty(copy, key, { value, enumerable: true })
  }
  return copy
}

/** Checks enough to compute the length without reading the whole text. */
function isHexLike(text: string): boolean {
  return text.startsWith('0x') && text.length % 2 === 0
}

function encodeNamed(value: CborValue, field: string): Uint8Array {
  try {
    return encodeCbor(value)
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    throw invalidParams(field, 'values with a canonical encoding', error.message)
  }
}
