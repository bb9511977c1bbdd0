const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A duration in its two largest units, in the words of `explain`: `350 ms`, `5.9 s`, `2 min 5 s`. */
export function durationText(ms: number): string {
  if (ms > 0 && ms < 1_000) return `${Math.ceil(ms)} ms`
  // Cut, not rounded: 59.96 s is not 60 s yet.
  if (ms < 60_000) return `${Math.max(0, Math.floor(ms / 100) / 10)} s`
  const largest = UNITS.findIndex(([, size]) => ms >= size)
  let rest = ms
  const parts: string[] = []
  for (const [unit, size] of UNITS.slice(largest, largest + 2)) {
    const count = Math.floor(rest / size)
    if (count > 0) parts.push(`${count} ${unit}`)
    rest -= count * size
  }
  return parts.join(' ')
}

const FACTORS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Reads `90s`, `15m`, `1h`, `2d`; null for anything else. */
export function durationMs(text: string): number | null {
  const [, digits, unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)\s*([a-z]+)$/.exec(text.trim()) ?? []
  const factor = FACTORS[unit]
  return digits === undefined || factor === undefined ? null : Math.round(Number(digits) * factor)
}
