/** The path to the first place where two plain values differ, with both; null if they are alike. */
export function firstDifference(a: unknown, b: unknown, path = ''): string | null {
  if (Object.is(a, b)) return null
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return `${path}: ${shown(a)} and ${shown(b)}`
  }
  if (ArrayBuffer.isView(a)) {
    const alike = ArrayBuffer.isView(b) && Buffer.compare(bytesOf(a), bytesOf(b)) === 0
    return alike ? null : `${path}: other bytes`
  }
  if (Array.isArray(a) && Array.isArray(b) && a.length !== b.length) {
    return `${path}: ${a.length} and ${b.length} items, ${shown(a)} and ${shown(b)}`
  }
  const [one, two] = [
    a as Readonly<Record<string, unknown>>,
    b as Readonly<Record<string, unknown>>,
  ]
  for (const key in one) {
    const difference = firstDifference(one[key], two[key], `${path}.${key}`)
    if (difference !== null) return difference
  }
  for (const key in two) if (!(key in one)) return `${path}.${key}: only in the second`
  return null
}

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
}

function shown(value: unknown): string {
  const text = JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'bigint' ? `${item}` : item,
  )
  return text === undefined ? String(value) : text.length > 200 ? `${text.slice(0, 200)} …` : text
}
