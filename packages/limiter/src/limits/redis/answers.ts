import type { CompleteAnswer, ReserveAnswer } from '@fairlead/core'
import type { ReserveRow } from './scripts.ts'

/** When to ask again, with the same lease id, after a call whose outcome is unknown. */
export const UNKNOWN_RETRY_MS = 100

export const COMPLETED: CompleteAnswer = { ok: true, error: null, detail: null }

export const TOO_CHANGEABLE = notReserved(
  'backend_error',
  'the limits were redefined again and again while this call was made',
  UNKNOWN_RETRY_MS,
)

/** A row of the script, in the words of the rules. */
export function reserveAnswer({ code, value, key }: ReserveRow): ReserveAnswer {
  switch (code) {
    case 'allowed':
      return allowedAt(value)
    case 'denied':
      return { ...notReserved(null, null, value), deniedKey: key }
    case 'decreasing':
      return { ...notReserved(`limit_decreasing:${key}`, null, value), deniedKey: key }
    case 'finished':
      return notReserved('lease_finished')
    case 'denied before':
      return notReserved('lease_already_denied')
    case 'other requirements':
      return notReserved('invalid_request', 'lease_id: expected a new one for other requirements')
    case 'unknown':
      return { ...notReserved(`unknown_limit_key:${key}`), deniedKey: key }
    case 'exceeds':
      return { ...notReserved(`exceeds_capacity:${key}`), deniedKey: key }
  }
}

function allowedAt(reservedAtUnixMs: number): ReserveAnswer {
  return {
    allowed: true,
    retryAfterMs: 0,
    reservedAtUnixMs,
    error: null,
    deniedKey: null,
    detail: null,
  }
}

export function notReserved(
  error: string | null,
  detail: string | null = null,
  retryAfterMs = 0,
): ReserveAnswer {
  return { allowed: false, retryAfterMs, reservedAtUnixMs: null, error, deniedKey: null, detail }
}
