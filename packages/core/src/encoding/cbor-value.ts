import { FairleadError } from '../errors.ts'

/**
 * Canonical CBOR: RFC 8949 §4.2.1 core deterministic encoding, and nothing else (CBOR-1 … CBOR-5).
 *
 * It is the wire format and the input of every hash. So a value has exactly one encoding, and the decoder refuses
 * all others. A whole JavaScript number is an integer, any other number is a float. `CborFloat` makes a whole
 * number a float, and every float decodes to it.
 */
export type CborValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | CborFloat
  | CborHex
  | readonly CborValue[]
  | CborMap
export type CborMap = { readonly [key: string]: CborValue }

/** A float, even if its value is whole: 1.0 and 1 are two values in CBOR. */
export class CborFloat {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

/** Bytes that are kept as `0x` hex. They are encoded as bytes, and every byte string decodes to a `Uint8Array`. */
export class CborHex {
  readonly hex: string
  constructor(hex: string) {
    this.hex = hex
  }
}

/** Deeper nesting is refused: it is useless, and the recursion must end before the stack overflows. */
export const CBOR_DEPTH_MAX = 256

/** The f16 bits of a value that f16 represents exactly, subnormals included; else null. */
export function toHalf(value: number): number | null {
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

/** The value of f16 bits. */
export function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

/** The refusal of a value or an encoding, with its place in the input if there is one. */
export function refusedCbor(found: string, at?: number): FairleadError {
  const location = at === undefined ? '' : ` at byte ${at}`
  return new FairleadError('InvalidParams', `canonical CBOR expected, got ${found}${location}`, {
    field: 'cbor',
    ...(at === undefined ? {} : { at }),
  })
}
