import type { LeaseFailure } from '@fairlead/core'

/** A code that may be shown to anybody: a word, never a sentence with somebody's data in it. */
const CODE = /^[A-Za-z0-9_.-]{1,64}$/

/**
 * Thrown by a handler, it ends the job for good: no other attempt could succeed. With one of the codes
 * `invalid_input`, `validation_error`, `sold_out`, `not_found` and `auth_error` it is the job's own
 * fault, and the provider does not pay for it.
 */
export class PermanentFailure extends Error {
  override readonly name = 'PermanentFailure'
  readonly code: string

  constructor(code: string, message: string = code, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** What a platform answered to a registration that it did not book, or that no answer came back. */
export class AttemptFailure extends Error {
  override readonly name = 'AttemptFailure'
  readonly failure: LeaseFailure

  constructor(failure: LeaseFailure, options?: ErrorOptions) {
    super(failure.code, options)
    this.failure = failure
  }
}

/** What is reported of an error that a handler threw: its code, if it has a fit one. */
export function failureOf(error: unknown): LeaseFailure {
  if (error instanceof AttemptFailure) return error.failure
  const code = (error as { readonly code?: unknown } | null | undefined)?.code
  return {
    code: typeof code === 'string' && CODE.test(code) ? code : 'handler_error',
    permanent: error instanceof PermanentFailure,
  }
}
