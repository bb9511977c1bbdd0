import {
  allowedAt,
  notAllowed,
  OTHER_REQUIREMENTS,
  type ReserveAnswer,
  unknownReserve,
} from '@fairlead/core/limits'
import type { ReserveRow } from './scripts.ts'

export const TOO_CHANGEABLE = unknownReserve(
  'the limits were redefined again and again while this call was made',
)

/** A row of the script, in the words of the rules. */
export function reserveAnswer({ code, value, key }: ReserveRow): ReserveAnswer {
  switch (code) {
    case 'allowed':
      return allowedAt(value)
    case 'denied':
      return notAllowed(null, { deniedKey: key, retryAfterMs: value })
    case 'decreasing':
      return notAllowed(`limit_decreasing:${key}`, { deniedKey: key, retryAfterMs: value })
    case 'finished':
      return notAllowed('lease_finished')
    case 'denied before':
      return notAllowed('lease_already_denied')
    case 'other requirements':
      return notAllowed('invalid_request', { detail: OTHER_REQUIREMENTS })
    case 'unknown':
      return notAllowed(`unknown_limit_key:${key}`, { deniedKey: key })
    case 'exceeds':
      return notAllowed(`exceeds_capacity:${key}`, { deniedKey: key })
  }
}
