import { inspect } from 'node:util'
import { invalidParams } from '@fairlead/core/internal'
import { durationMs } from '../duration.ts'

/** Milliseconds, or text such as `500ms`, `90s`, `10m`, `1h30m`, `7d`. */
export type Duration = number | string

/** A duration in milliseconds; refused by the name of its field. */
export function msOf(field: string, given: Duration): number {
  const ms = typeof given === 'string' ? durationMs(given) : given
  if (typeof ms === 'number' && Number.isSafeInteger(ms) && ms >= 0) return ms
  throw invalidParams(
    field,
    'milliseconds as a whole number, or a duration such as 90s, 10m or 1h30m',
    // JSON has no NaN.
    typeof given === 'string' ? JSON.stringify(given) : inspect(given, { depth: 0 }),
  )
}

/** A moment in milliseconds since 1970. */
export function timeOf(field: string, given: Date | number): number {
  const at = given instanceof Date ? given.getTime() : given
  if (Number.isSafeInteger(at) && at >= 0) return at
  throw invalidParams(field, 'a Date, or milliseconds since 1970', String(given))
}
