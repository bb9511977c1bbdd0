const UNITS: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
}

const PARTS = /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/

/** `500ms`, `90s`, `1h30m` or `30d` in milliseconds: units from the longest to the shortest; null for any other text. */
export function durationMs(text: string): number | null {
  const parts = PARTS.exec(text)
  if (parts === null || text === '') return null
  return Object.values(UNITS).reduce((sum, unit, i) => sum + unit * Number(parts[i + 1] ?? 0), 0)
}
