import { isPlainObject } from '@fairlead/core/internal'

/** What stands at `a.b.0.c` in a value; undefined where there is nothing. Only own fields are seen. */
export function jsonAt(value: unknown, path: string): unknown {
  let at: unknown = value
  for (const name of path.split('.')) {
    const isThere = (Array.isArray(at) || isPlainObject(at)) && Object.hasOwn(at, name)
    if (!isThere) return undefined
    at = (at as Readonly<Record<string, unknown>>)[name]
  }
  return at
}
