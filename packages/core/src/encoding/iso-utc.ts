/** ISO 8601 in UTC with milliseconds, computed from the calendar, because core has no `Date`. */
export function isoUtc(ms: number): string {
  const days = Math.floor(ms / 86_400_000)
  const rest = ms - days * 86_400_000
  const { year, month, day } = civilDate(days)
  const hours = Math.floor(rest / 3_600_000)
  const minutes = Math.floor(rest / 60_000) % 60
  const seconds = Math.floor(rest / 1_000) % 60
  // Years with more than four digits get a sign and six digits.
  const years = year > 9_999 ? `+${pad(year, 6)}` : pad(year, 4)
  const date = `${years}-${pad(month, 2)}-${pad(day, 2)}`
  return `${date}T${pad(hours, 2)}:${pad(minutes, 2)}:${pad(seconds, 2)}.${pad(rest % 1_000, 3)}Z`
}

/** Converts days since 1970 to a Gregorian date. Years count from March, so that a leap day comes last. */
function civilDate(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  return { year, month, day }
}

/** The start of a day of the Gregorian calendar: the inverse of `civilDate`. */
export function utcMs(date: {
  readonly year: number
  readonly month: number
  readonly day: number
}): number {
  const years = date.month <= 2 ? date.year - 1 : date.year
  const era = Math.floor(years / 400)
  const yearOfEra = years - era * 400
  const marchMonth = (date.month + 9) % 12
  const dayOfYear = Math.floor((153 * marchMonth + 2) / 5) + date.day - 1
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  return (era * 146_097 + yearOfEra * 365 + leapDays + dayOfYear - 719_468) * 86_400_000
}

function pad(n: number, width: number): string {
  return String(n).padStart(width, '0')
}
