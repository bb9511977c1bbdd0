import { invalidParams } from '@fairlead/core/internal'

type Problem = readonly [expected: string, got: string]

/** Where a value stands: under a key of an object, which stands somewhere itself. */
interface Place {
  readonly key: string
  readonly object: object | null
  readonly outer: Place | null
  readonly depth: number
}

/** A payload is nested in its request, and all of it at most 256 deep (CBOR-6). */
const DEPTH_MAX = 250

/** Refuses data that would not come back as it is, with its place (QUEUE-4). */
export function checkData(data: unknown): void {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw invalidParams('data', 'an object', `${kindOf(data)}; give { value: … } instead`)
  }
  look(data, { key: 'data', object: null, outer: null, depth: 0 }, problemWithData)
}

/** The same for a result, which is kept as JSON: fields that are undefined are left out, and any number will do. */
export function checkReturned(result: unknown): void {
  look(result, { key: 'result', object: null, outer: null, depth: 0 }, problemWith)
}

function look(value: unknown, place: Place, problemOf: (value: unknown) => Problem | null): void {
  const problem = problemOf(value) ?? problemWithPlace(value, place)
  if (problem !== null) throw invalidParams(pathOf(place), ...problem)
  if (typeof value !== 'object' || value === null) return
  const depth = place.depth + 1
  const isList = Array.isArray(value)
  // A hole of a list would become null.
  const keys = isList ? Array.from(value, (_item, i) => String(i)) : Object.keys(value)
  for (const key of keys) {
    const item: unknown = (value as Record<string, unknown>)[key]
    if (item === undefined && !isList && problemOf === problemWith) continue
    look(item, { key, object: value, outer: place, depth }, problemOf)
  }
}

/** JSON holds more than a payload does. */
function problemWithData(value: unknown): Problem | null {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return ['a whole number within ±(2^53 − 1); give larger ones as text', String(value)]
  }
  if (typeof value === 'string' && !value.isWellFormed()) {
    return ['text; give bytes as base64', 'half a surrogate pair']
  }
  return problemWith(value)
}

function problemWith(value: unknown): Problem | null {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return null
    case 'number':
      return Number.isFinite(value) ? null : ['a finite number, or null', String(value)]
    case 'undefined':
      return ['a value that JSON can hold; leave the field out, or give null', 'undefined']
    case 'bigint':
      return ['a number, or the digits as text', 'a bigint']
    case 'function':
    case 'symbol':
      return ['a value that JSON can hold', `a ${typeof value}`]
    case 'object':
      return value === null ? null : problemWithObject(value)
  }
}

function problemWithObject(value: object): Problem | null {
  if (Array.isArray(value)) return null
  const advice = ADVICE.find(([type]) => value instanceof type)?.[1]
  if (advice !== undefined) return [advice, kindOf(value)]
  if (!isPlain(value)) return ['a plain object; copy its fields, as in { ...it }', kindOf(value)]
  const [symbol] = Object.getOwnPropertySymbols(value)
  return symbol === undefined ? null : ['text as keys', `the key ${String(symbol)}`]
}

function isPlain(value: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return true
  // Of another realm, such as that of a test runner.
  return Object.getPrototypeOf(prototype) === null && prototype.constructor?.name === 'Object'
}

function problemWithPlace(value: unknown, place: Place): Problem | null {
  if (typeof value !== 'object' || value === null) return null
  if (place.depth > DEPTH_MAX) return [`at most ${DEPTH_MAX} levels`, 'more']
  for (let at: Place | null = place; at !== null; at = at.outer) {
    if (at.object === value)
      return ['no cycle; name its parts by id', 'an object that contains itself']
  }
  return null
}

const ADVICE: readonly (readonly [new (...args: never[]) => object, string])[] = [
  [Date, 'text or a number; give date.toISOString() or date.getTime()'],
  [Map, 'a plain object; give Object.fromEntries(map)'],
  [Set, 'an array; give [...set]'],
  [Promise, 'a value; await it'],
  [URL, 'text; give url.href'],
  [ArrayBuffer, 'text; give Buffer.from(it).toString("base64")'],
  [Uint8Array, 'text; give Buffer.from(it).toString("base64")'],
]

/** Names the type of a value, for a refusal. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return value === undefined ? 'undefined' : `a ${typeof value}`
  const name = value.constructor?.name || 'object'
  return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`
}

/** As it would be written in code. */
function pathOf({ key, object, outer }: Place): string {
  if (outer === null) return key
  if (Array.isArray(object)) return `${pathOf(outer)}[${key}]`
  const access = /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
  return `${pathOf(outer)}${access}`
}
