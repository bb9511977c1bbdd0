/** The answer to a reserve. A refusal is a value, not an exception (LIMIT-8). */
export interface ReserveAnswer {
  readonly allowed: boolean
  /** How long to wait before a retry with another lease id; 0 if a retry would not help. */
  readonly retryAfterMs: number
  readonly reservedAtUnixMs: number | null
  readonly error: string | null
  readonly deniedKey: string | null
  /** For `invalid_request`: the field, and what was expected. */
  readonly detail: string | null
}

export interface CompleteAnswer {
  readonly ok: boolean
  readonly error: string | null
  readonly detail: string | null
  /** The amounts that were too large to be booked, by key; left out if everything was booked. */
  readonly excess?: readonly Excess[] | undefined
}

/** An amount that the caller reported as used, but that was not booked (LIMIT-19). */
export interface Excess {
  readonly key: string
  readonly amount: number
}

/** How long to wait before a retry with the same lease id, after a call with an unknown outcome. */
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

/** A refusal. Without a retry time it is final. */
export function notAllowed(
  error: string | null,
  more: Partial<Pick<ReserveAnswer, 'deniedKey' | 'detail' | 'retryAfterMs'>> = {},
): ReserveAnswer {
  const { deniedKey = null, detail = null, retryAfterMs = 0 } = more
  return { allowed: false, retryAfterMs, reservedAtUnixMs: null, error, deniedKey, detail }
}

/** The outcome is unknown; a repeat of the same call will tell. */
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
