const formats = new Map<string, Intl.DateTimeFormat>()

function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone} ${JSON.stringify(options)}`
  let found = formats.get(key)
  if (found === undefined) {
    found = new Intl.DateTimeFormat('en-CA', { ...options, timeZone: zone, hourCycle: 'h23' })
    formats.set(key, found)
  }
  return found
}

const DATE = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
const TIME = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const

/** `2026-11-19 14:03:07`, in a time zone. */
export function timeText(ms: number, zone: string): string {
  return format(zone, { ...DATE, ...TIME })
    .format(ms)
    .replace(', ', ' ')
}

/** `14:03:07.250`, in a time zone. */
export function clockText(ms: number, zone: string): string {
  return format(zone, { ...TIME, fractionalSecondDigits: 3 }).format(ms)
}

/** Whether a name is one of a time zone here. */
export function isZone(zone: string): boolean {
  try {
    format(zone, DATE)
    return true
  } catch {
    return false
  }
}
