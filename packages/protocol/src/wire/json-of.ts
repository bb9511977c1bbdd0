import { CborFloat, type CborMap, type CborValue, showU64, toHex } from '@fairlead/core'

/** The JSON form of a decoded value: bytes as `0x` hex, floats as numbers, large integers as text. */
export function jsonOf(value: CborValue): unknown {
  if (typeof value === 'bigint') return value < 0n ? value.toString() : showU64(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof CborFloat) return value.value
  if (value instanceof Uint8Array) return toHex(value)
  if (Array.isArray(value)) return value.map((item) => jsonOf(item as CborValue))
  const map = value as CborMap
  // fromEntries defines properties, so a key `__proto__` stays a key.
  return Object.fromEntries(Object.keys(map).map((key) => [key, jsonOf(map[key] as CborValue)]))
}
