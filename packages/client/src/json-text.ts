import { PermanentFailure } from './worker/failure.ts'

/** A result that JSON cannot hold. Another attempt would return the same, so the job ends (RESULT-3). */
export class NotSerializable extends PermanentFailure {
  constructor(
    path: string,
    got: string,
    advice = 'return a value that JSON can hold',
    cause?: unknown,
  ) {
    super(
      'output_not_serializable',
      `${path}: expected a value that can be written as JSON, got ${got}; ${advice}`,
      cause === undefined ? undefined : { cause },
    )
  }
}

/**
 * The JSON of a value, or undefined where it has none. Unlike `JSON.stringify` it drops and changes nothing
 * but undefined: a function, a NaN or a Map in a result is an error of its handler, and is told with its place.
 */
export function jsonText(value: unknown): string | undefined {
  /** The objects around the value that is looked at, outermost first, each with its key. */
  const around: { readonly object: object; readonly key: string }[] = []
  let lastKey = ''
  const path = (): string => pathOf([...around.map((entry) => entry.key), lastKey])

  function look(this: unknown, key: string, item: unknown): unknown {
    // The siblings before this one are done with.
    while (around.length > 0 && around.at(-1)?.object !== this) around.pop()
    lastKey = key
    const problem = problemWith((this as Record<string, unknown>)[key]) ?? problemWith(item)
    if (problem !== null) throw new NotSerializable(path(), ...problem)
    if (typeof item !== 'object' || item === null) return item
    if (around.some(({ object }) => object === item)) {
      throw new NotSerializable(path(), 'a cycle: it contains itself', 'return its parts by id')
    }
    around.push({ object: item, key })
    return item
  }

  try {
    return JSON.stringify(value, look)
  } catch (error) {
    if (error instanceof NotSerializable) throw error
    const isTooMuch = error instanceof RangeError
    const got = isTooMuch ? 'one that is too deep or too long' : `an error: ${String(error)}`
    throw new NotSerializable(path(), got, undefined, error)
  }
}

type Problem = readonly [got: string, advice?: string]

const AS_BYTES = 'return bytes alone as a Uint8Array, or as text such as base64'

function problemWith(value: unknown): Problem | null {
  switch (typeof value) {
    case 'bigint':
      return ['a bigint', 'return it as text']
    case 'function':
      return ['a function']
    case 'symbol':
      return ['a symbol', 'return it as text']
    case 'number':
      return Number.isFinite(value) ? null : [String(value), 'return a finite number or null']
    case 'object':
      return value === null ? null : problemWithObject(value)
    case 'boolean':
    case 'string':
    case 'undefined':
      return null
  }
}

function problemWithObject(value: object): Problem | null {
  if (value instanceof Map) return ['a Map', 'return Object.fromEntries(it)']
  if (value instanceof Set) return ['a Set', 'return an array']
  if (value instanceof Promise) return ['a Promise', 'await it']
  if (value instanceof ArrayBuffer) return ['an ArrayBuffer', AS_BYTES]
  if (ArrayBuffer.isView(value)) {
    const { name } = value.constructor
    return [`${name.startsWith('I') ? 'an' : 'a'} ${name}`, AS_BYTES]
  }
  return null
}

/** As it would be written in code. The first key is that of the value itself, which has none. */
function pathOf([, ...keys]: readonly string[]): string {
  return keys.reduce((path, key) => {
    if (/^\d+$/.test(key)) return `${path}[${key}]`
    return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`
  }, 'result')
}
