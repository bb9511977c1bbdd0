import { toHex } from './bytes.ts'
import { CborFloat, type CborMap, type CborValue } from './cbor.ts'
import { showU64 } from './u64.ts'

/** The JSON form of a decoded value: bytes as `0x` hex, floats as numbers, large integers as text. */
export function jsonOf(value: CborValue): unknown {
  if (typeof value === 'bigint') return value < 0n ? value.toString() : showU64(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof CborFloat) return value.value
  if (value instanceof Uint8Array) return toHex(value)
  if (Array.isArray(value)) return value.map((item) => jsonOf(item as CborValue))
  return mapped(value as CborMap)
}

/** A loop, because a payload goes out with every lease and `fromEntries` needs a pair for each field. */
function mapped(map: CborMap): Record<string, unknown> {
  const json: Record<string, unknown> = {}
  for (const key of Object.keys(map)) {
    const value = jsonOf(map[key] as CborValue)
    if (key !== '__proto__') json[key] = value
    // An assignment would set the prototype instead of a key.
    else
      Object.defineProperty(json, key, {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      })
  }
  return json
}
