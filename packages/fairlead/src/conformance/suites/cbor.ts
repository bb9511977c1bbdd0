import { CborFloat, type CborValue, decodeCbor, encodeCbor, fromHex, toHex } from '@fairlead/core'
import { type Json, refusal, type Suite } from '../suite.ts'

/** §1: canonical encoding and strict decoding. */
export const cbor: Suite = (input, expect) => {
  if ('encode' in input) {
    let bytes: Uint8Array = new Uint8Array()
    const refused = refusal(() => {
      bytes = encodeCbor(toValue(input.encode))
    })
    return { expected: expect, actual: refused ? { refused: true } : { cbor: toHex(bytes) } }
  }
  const bytes = fromHex(input.decode)
  if (bytes === null) throw new TypeError(`decode: ${input.decode} is not 0x hex`)
  let value: CborValue = null
  const refused = refusal(() => {
    value = decodeCbor(bytes)
  })
  // Floats are compared as numbers, so both sides are brought to one written form.
  const expected = 'value' in expect ? { value: fromValue(toValue(expect.value)) } : expect
  return { expected, actual: refused ? { refused: true } : { value: fromValue(value) } }
}

function toValue(json: Json): CborValue {
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) return json.map(toValue)
  if ('$bytes' in json) return fromHex(json.$bytes) as Uint8Array
  if ('$int' in json) return BigInt(json.$int)
  if ('$float' in json) {
    const value = Number(json.$float)
    return new CborFloat(json.width === 'f32' ? Math.fround(value) : value)
  }
  return Object.fromEntries(Object.entries(json).map(([key, item]) => [key, toValue(item)]))
}

function fromValue(value: CborValue): Json {
  if (typeof value === 'bigint') return { $int: value.toString() }
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof CborFloat) {
    return { $float: Object.is(value.value, -0) ? '-0' : String(value.value) }
  }
  if (value instanceof Uint8Array) return { $bytes: toHex(value) }
  if (Array.isArray(value)) return value.map(fromValue)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fromValue(item)]))
}
