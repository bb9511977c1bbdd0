import { isHex32 } from '../../encoding/bytes.ts'
import { isPlainObject } from '../../encoding/plain-object.ts'
import { readU64 } from '../../encoding/u64.ts'
import { FairleadError, invalidParams } from '../../errors.ts'

/** An object that came as JSON. Every reader here answers with the value, or throws `InvalidParams` naming the field. */
export type Json = Readonly<Record<string, unknown>>

/** An object with no other fields than these. */
export function fieldsOf(value: unknown, field: string, known: readonly string[]): Json {
  if (!isPlainObject(value)) throw invalidParams(field, 'an object')
  for (const key of Object.keys(value)) {
    if (!known.includes(key))
      throw invalidParams(key, `no such field; there are ${known.join(', ')}`)
  }
  return value
}

/** A part that is an object; `read` gets it, and a refusal names the path. */
export function partIn<Value>(json: Json, field: string, read: (part: Json) => Value): Value {
  const part = json[field]
  if (!isPlainObject(part)) throw invalidParams(field, 'an object')
  return within(field, () => read(part))
}

/** A list of objects. */
export function listIn<Item>(
  json: Json,
  field: string,
  read: (item: Json) => Item,
): readonly Item[] {
  const value = json[field]
  if (!Array.isArray(value)) throw invalidParams(field, 'a list')
  return value.map((item: unknown, i) => {
    const path = `${field}[${i}]`
    if (!isPlainObject(item)) throw invalidParams(path, 'an object')
    return within(path, () => read(item))
  })
}

/** Reads a part; a refusal of it names the whole path. */
function within<Value>(path: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    const { code, message, details } = error
    const field = `${path}.${String(details['field'])}`
    throw new FairleadError(code, `${path}.${message}`, { ...details, field })
  }
}

export function hashIn(json: Json, field: string): string {
  const value = json[field]
  if (!isHex32(value)) throw invalidParams(field, '32 bytes as 0x hex')
  return value
}

export function textIn(json: Json, field: string): string {
  const value = json[field]
  if (typeof value === 'string' && value.isWellFormed()) return value
  throw invalidParams(field, 'well-formed text')
}

export function u64In(json: Json, field: string): bigint {
  const value = readU64(json[field])
  if (value === null) throw invalidParams(field, 'a whole number from 0 to 2^64 − 1')
  return value
}

export function wholeIn(json: Json, field: string): number {
  const value = u64In(json, field)
  if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value)
  throw invalidParams(field, 'a whole number from 0 to 2^53 − 1')
}
