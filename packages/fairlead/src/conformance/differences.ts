import type { Json } from './suite.ts'

/** One place where two JSON values differ. `undefined` is a value that is not there. */
export interface Difference {
  readonly path: string
  readonly expected: Json
  readonly actual: Json
}

/** More than these tell a reader nothing new. */
const SHOWN_MAX = 5

/** Where two values differ as JSON: the order of keys does not matter, that of lists does. */
export function differences(expected: Json, actual: Json): Difference[] {
  const found: Difference[] = []
  compare(expected, actual, '', found)
  return found
}

function compare(expected: Json, actual: Json, path: string, found: Difference[]): void {
  if (Object.is(expected, actual) || found.length >= SHOWN_MAX) return
  const bothLists = Array.isArray(expected) && Array.isArray(actual)
  if (!bothLists && !(isObject(expected) && isObject(actual))) {
    found.push({ path, expected, actual })
    return
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const below = bothLists ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    compare(own(expected, key), own(actual, key), below, found)
  }
}

/** A key `__proto__` must not find the prototype. */
function own(value: Json, key: string): Json {
  return Object.hasOwn(value, key) ? value[key] : undefined
}

export function isObject(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
