import { FairleadError } from '@fairlead/core'
import { durationMs } from '../duration.ts'

/** The whole number that a flag was given; refused by the flag's name. */
export function wholeNumber(
  flag: string,
  text: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER }: { readonly min?: number; readonly max?: number } = {},
): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min && value <= max) {
    return value
  }
  throw misuse(`${flag}: expected a whole number from ${min} to ${max}, got ${text}`)
}

/** An amount of money as the wire has it: a number, or text above 2^53 − 1. */
export function amountOf(flag: string, text: string): number | string {
  if (/^[1-9]\d{0,19}$/.test(text)) return Number.isSafeInteger(Number(text)) ? Number(text) : text
  throw misuse(`${flag}: expected a whole number of at least 1, in base units, got ${text}`)
}

/** One of a list of words. */
export function oneOfWords<Word extends string>(
  flag: string,
  text: string,
  words: readonly Word[],
): Word {
  const found = words.find((word) => word === text)
  if (found !== undefined) return found
  throw misuse(`${flag}: expected one of ${words.join(', ')}, got ${text}`)
}

/** JSON text that stands for an object. */
export function jsonObject(flag: string, text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw misuse(`${flag}: expected a JSON object; ${(error as Error).message}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>
  }
  throw misuse(`${flag}: expected a JSON object, as in '{"n": 1}'`)
}

/** `10s`, `5m`, `1h30m`, `30d`, in milliseconds. */
export function duration(flag: string, text: string): number {
  const ms = durationMs(text)
  if (ms !== null) return ms
  throw misuse(
    `${flag}: expected a number with its unit, such as 90s, 15m, 12h or 30d, got ${text}`,
  )
}

/** A time in the past, as a date or as an age. */
export function pastTime(flag: string, text: string, nowMs: number): number {
  const age = durationMs(text)
  if (age !== null) return nowMs - age
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (at >= 0 && at <= nowMs) return at
  throw misuse(
    `${flag}: expected a time in the past, as 2026-01-31, 2026-01-31T12:00:00Z or 30d, got ${text}`,
  )
}

/** A moment: a date with its time zone, or a time from now. */
export function moment(flag: string, text: string, nowMs: number): number {
  const fromNow = durationMs(text)
  if (fromNow !== null) return nowMs + fromNow
  const at = DATE_IN_ZONE.test(text) ? Date.parse(text) : Number.NaN
  if (at >= 0) return at
  throw misuse(
    `${flag}: expected a time with its zone, as 2027-03-01T09:00:00Z or 2027-03-01T09:00:00+01:00, or one from now, as 10m, got ${text}`,
  )
}

/** Without a zone it would mean another moment on every machine. */
const DATE_IN_ZONE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/

/** What is wrong with the command line, in a sentence. */
export function misuse(message: string): FairleadError {
  return new FairleadError('InvalidParams', message)
}
