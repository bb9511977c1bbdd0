import { invalidParams } from '@fairlead/core/internal'

type Problem = readonly [expected: string, got: string]

/**
 * Refuses what JSON would drop or change, with its place (QUEUE-4): a `Date` would come back as a string, a `Map` as an
 * empty object.
 */
export function checkPlain(root: string, value: unknown, rules: Rules = {}): void {
  look(value, { path: root, around: [], rules })
}

interface Rules {
  /** A field that is undefined is as if it were not there. */
  readonly mayLackFields?: boolean
}

interface Place {
  readonly path: string
  /** The objects around it, outermost first. */
  readonly around: readonly unknown[]
  readonly rules: Rules
}

/** The same for `data`, which is an object, because a payload is one. */
export function checkData(data: unknown): void {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw invalidParams('data', 'an object', `${kindOf(data)}; give { value: … } instead`)
  }
  checkPlain('data', data)
}

function look(value: unknown, { path, around, rules }: Place): void {
  const problem = problemWith(value, around)
  if (problem !== null) throw invalidParams(path, ...problem)
  if (typeof value !== 'object' || value === null) return
  const inside = [...around, value]
  if (Array.isArray(value)) {
    // Not `forEach`, which passes over holes.
    for (let i = 0; i < value.length; i++) {
      look(value[i], { path: `${path}[${i}]`, around: inside, rules })
    }
    return
  }
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined && rules.mayLackFields === true) continue
    look(item, { path: `${path}${accessTo(key)}`, around: inside, rules })
  }
}

function problemWith(value: unknown, around: readonly unknown[]): Problem | null {
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
      return value === null ? null : problemWithObject(value, around)
  }
}

function problemWithObject(value: object, around: readonly unknown[]): Problem | null {
  if (around.includes(value))
    return ['no cycle; name its parts by id', 'an object that contains itself']
  if (around.length >= DEPTH_MAX) return [`at most ${DEPTH_MAX} levels`, 'more']
  if (Array.isArray(value)) return null
  const advice = ADVICE.find(([type]) => value instanceof type)?.[1]
  if (advice !== undefined) return [advice, kindOf(value)]
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return null
  // Of another realm, such as that of a test runner.
  if (Object.getPrototypeOf(prototype) === null && prototype.constructor?.name === 'Object')
    return null
  return ['a plain object; copy its fields, as in { ...it }', kindOf(value)]
}

const DEPTH_MAX = 500

const ADVICE: readonly (readonly [new (...args: never[]) => object, string])[] = [
  [Date, 'text or a number; give date.toISOString() or date.getTime()'],
  [Map, 'a plain object; give Object.fromEntries(map)'],
  [Set, 'an array; give [...set]'],
  [Promise, 'a value; await it'],
  [URL, 'text; give url.href'],
  [ArrayBuffer, 'text; give Buffer.from(it).toString("base64")'],
  [Uint8Array, 'text; give Buffer.from(it).toString("base64")'],
]

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return value === undefined ? 'undefined' : `a ${typeof value}`
  const name = value.constructor?.name || 'object'
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`
}

/** As it would be written in code. */
function accessTo(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}
