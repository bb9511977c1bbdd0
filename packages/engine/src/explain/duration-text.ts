const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A duration as people say it, in its two largest units: `350 ms`, `5.9 s`, `2 min 5 s`, `3 h 20 min`. */
export function durationText(ms: number): string {
  if (ms > 0 && ms < 1_000) return `${ms} ms`
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
