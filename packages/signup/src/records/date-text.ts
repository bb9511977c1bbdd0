/**
 * A time for people, in a time zone: `Monday, 1 March 2027, 09:00 (Europe/Berlin)`. It is put together from its
 * parts, because the order that ICU gives them differs between its versions. A zone that this host does not know
 * is written in UTC: a policy may come from another host.
 */
export function dateText(ms: number, timeZone: string): string {
  const known = isTimeZone(timeZone) ? timeZone : 'UTC'
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: known,
    ...{ weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
  })
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? ''
  const seconds = part('second') === '00' ? '' : `:${part('second')}`
  const date = `${part('weekday')}, ${part('day')} ${part('month')} ${part('year')}`
  const zone = known === 'UTC' ? 'UTC' : `(${known})`
  return `${date}, ${part('hour')}:${part('minute')}${seconds} ${zone}`
}

/** Whether this host knows a time zone by this name. */
export function isTimeZone(written: unknown): written is string {
  if (typeof written !== 'string') return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: written }).format(0) !== ''
  } catch {
    return false
  }
}
