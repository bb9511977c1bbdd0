/** The answer to a reserve. A refusal is a value, not an exception (LIMIT-8). */
export interface ReserveAnswer {
  readonly allowed: boolean
  /** When to ask again, with another lease id; 0 if that would not help. */
  readonly retryAfterMs: number
  readonly reservedAtUnixMs: number | null
  readonly error: string | null
  readonly deniedKey: string | null
  /** For `invalid_request`: which field, and what was expected. */
  readonly detail: string | null
}

export interface CompleteAnswer {
  readonly ok: boolean
  readonly error: string | null
  readonly detail: string | null
  /** Of actuals past all reason: what was not booked, for each key. Left out where all was. */
  readonly excess?: readonly Excess[] | undefined
}

/** Used according to the caller, and not booked (LIMIT-19). */
export interface Excess {
  readonly key: string
  readonly amount: number
}

/** When to ask again, with the same lease id, after a call whose outcome is unknown. */
export const UNKNOWN_RETRY_MS = 100

export function allowedAt(reservedAtUnixMs: number): ReserveAnswer {
  return {
    allowed: true,
    retryAfterMs: 0,
    reservedAtUnixMs,
    error: null,
    deniedKey: null,
    detail: null,
  }
}

/** Not allowed; without a wait it is refused for good. */
export function notAllowed(
  error: string | null,
  more: Partial<Pick<ReserveAnswer, 'deniedKey' | 'detail' | 'retryAfterMs'>> = {},
): ReserveAnswer {
  const { deniedKey = null, detail = null, retryAfterMs = 0 } = more
  return { allowed: false, retryAfterMs, reservedAtUnixMs: null, error, deniedKey, detail }
}

/** Nobody knows what became of it: the same call again will tell. */
export function unknownReserve(detail: string): ReserveAnswer {
  return notAllowed('backend_error', { detail, retryAfterMs: UNKNOWN_RETRY_MS })
}

export const COMPLETED: CompleteAnswer = { ok: true, error: null, detail: null }

export function notCompleted(
  error: 'invalid_request' | 'backend_error',
  detail: string,
): CompleteAnswer {
  return { ok: false, error, detail }
}
