import { LIMIT_KINDS } from '@fairlead/core/internal'
import { duration, misuse, oneOfWords, wholeNumber } from './flags.ts'

/** The flags of `fairlead limits set`. */
export interface LimitFlags {
  readonly kind?: string
  readonly capacity?: string
  readonly window?: string
  readonly timeout?: string
  readonly burst?: string
  readonly rate?: string
  readonly overage?: string
  readonly callers?: string
  readonly unit?: string
  readonly description?: string
}

/** The fields that were given, by their names on the wire. */
export function readLimitFlags(
  flags: LimitFlags,
): Readonly<Record<string, string | number | readonly string[] | undefined>> {
  const { kind, capacity, window, timeout, burst, rate, overage, callers, unit, description } =
    flags
  return {
    ...(kind === undefined ? {} : { kind: oneOfWords('--kind', kind, LIMIT_KINDS) }),
    ...(capacity === undefined
      ? {}
      : { capacity: wholeNumber('--capacity', capacity, { min: 1 }) }),
    ...(window === undefined ? {} : { window_seconds: seconds('--window', window) }),
    ...(timeout === undefined ? {} : { timeout_seconds: seconds('--timeout', timeout) }),
    ...(burst === undefined ? {} : { burst: wholeNumber('--burst', burst, { min: 1 }) }),
    ...(rate === undefined ? {} : { rate: decimal('--rate', rate) }),
    ...(overage === undefined
      ? {}
      : { overage: oneOfWords('--overage', overage, ['debt', 'deny']) }),
    // None named: everybody.
    ...(callers === undefined ? {} : { callers: callers === '' ? undefined : callers.split(',') }),
    ...(unit === undefined ? {} : { unit }),
    ...(description === undefined ? {} : { description }),
  }
}

function seconds(flag: string, text: string): number {
  const ms = duration(flag, text)
  if (ms > 0 && ms % 1_000 === 0) return ms / 1_000
  throw misuse(`${flag}: expected whole seconds, such as 60s, 1h or 1d, got ${text}`)
}

function decimal(flag: string, text: string): number {
  if (/^\d{1,10}(?:\.\d{1,3})?$/.test(text) && Number(text) > 0) return Number(text)
  throw misuse(`${flag}: expected a number with at most three decimals, such as 0.5, got ${text}`)
}
