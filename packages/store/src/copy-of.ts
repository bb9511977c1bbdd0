/**
 * A row that shares nothing with the one given: whoever wrote it may go on using its lists and bytes.
 * Bytes become a plain `Uint8Array`, whichever kind they were.
 */
export function copyOf<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return new Uint8Array(value) as unknown as Value
  if (Array.isArray(value)) return value.map(copyOf) as unknown as Value
  const copy = { ...value }
  for (const key in copy) copy[key] = copyOf(copy[key])
  return copy
}
