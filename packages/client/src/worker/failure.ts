import { inspect } from 'node:util'
import { encodeCbor, type KindName, type LeaseFailure } from '@fairlead/core'

/**
 * Thrown by a handler, it ends the job for good: no other attempt could succeed. With one of the codes
 * `invalid_input`, `validation_error`, `sold_out`, `not_found` and `auth_error` it is the job's own
 * fault, and the provider does not pay for it.
 */
export class PermanentFailure extends Error {
  override readonly name: string = 'PermanentFailure'
  readonly code: string

  constructor(code: string, message: string = code, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Thrown by a handler, it asks for the next attempt not to begin before so many milliseconds (FAIL-4). */
export class RetryAfter extends Error {
  override readonly name = 'RetryAfter'
  readonly retryAfterMs: number
  readonly code: string

  constructor(
    retryAfterMs: number,
    message = `try again in ${retryAfterMs} ms`,
    { code = 'retry_after', ...options }: ErrorOptions & { readonly code?: string } = {},
  ) {
    super(message, options)
    this.retryAfterMs = retryAfterMs
    this.code = code
  }
}

/** A failure in the form in which it is reported: for registrations, and for code that knows all of its fields. */
export class AttemptFailure extends Error {
  override readonly name = 'AttemptFailure'
  readonly failure: LeaseFailure

  constructor(failure: LeaseFailure, options?: ErrorOptions) {
    super(failure.message ?? failure.code, options)
    this.failure = failure
  }
}

/** The engine keeps no more than 64 characters of a code. */
const CODE_MAX = 64
/** The engine cuts at 4 KiB and marks the cut; more than that would only be carried there. */
const MESSAGE_MAX_BYTES = 8_192
/** With the other fields well below the 16 KiB that the engine takes as details. */
const STACK_MAX_BYTES = 8_192
const CAUSE_MAX_BYTES = 2_048
/** A code that cannot be a sentence with somebody's data in it. */
const WORD = /^[A-Za-z0-9_.-]{1,64}$/

/** The report of an error that a handler threw (FAIL-1). Whatever was thrown, it gives one. */
export function failureOf(error: unknown, kind: KindName): LeaseFailure {
  try {
    const failure = error instanceof AttemptFailure ? error.failure : describe(error)
    return kind === 'registration' ? withoutText(failure) : withFoldedCode(failure)
  } catch {
    // A getter of the error threw.
    return { code: 'error', permanent: false }
  }
}

/** The report of a result that was refused. */
export function refusedResult(refusal: unknown, kind: KindName): LeaseFailure {
  const failure = { ...describe(refusal), code: 'invalid_result', permanent: false }
  return kind === 'registration' ? withoutText(failure) : failure
}

/** The text of a registration's failure may be about people, and stays here (FAIL-5). */
function withoutText(failure: LeaseFailure): LeaseFailure {
  const { message: _, details: __, code, ...rest } = failure
  return { code: WORD.test(code) ? code : 'error', ...rest }
}

/** The engine keeps small letters only: ETIMEDOUT stays readable as etimedout. */
function withFoldedCode(failure: LeaseFailure): LeaseFailure {
  const code = failure.code.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  return { ...failure, code }
}

function describe(error: unknown): LeaseFailure {
  const { code, retryAfterMs } = Object(error) as Record<string, unknown>
  const message = cutText(messageOf(error), MESSAGE_MAX_BYTES)
  const details = detailsOf(error)
  return {
    code: typeof code === 'string' && code !== '' ? code.slice(0, CODE_MAX) : 'error',
    permanent: error instanceof PermanentFailure,
    ...(message === '' ? {} : { message }),
    ...(details === null ? {} : { details }),
    ...(isWait(retryAfterMs) ? { retryAfterMs } : {}),
  }
}

/** Its message; that of an error without one is made of what it has. */
function messageOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) {
    return typeof thrown === 'string' ? thrown : inspect(thrown)
  }
  const { message, errors, code, name } = thrown as Record<string, unknown>
  if (typeof message === 'string' && message !== '') return message
  // Node says of a refused connection: an AggregateError without a message, one error for each address.
  if (Array.isArray(errors) && errors.length > 0) return errors.map(messageOf).join('; ')
  if (typeof code === 'string') return code
  if (thrown instanceof Error) return typeof name === 'string' ? name : 'Error'
  return inspect(thrown, { depth: 2 })
}

/** Where it was thrown; null for a value that does not know. */
function detailsOf(thrown: unknown): Uint8Array | null {
  if (typeof thrown !== 'object' || thrown === null) return null
  const { name, stack, cause } = thrown as Record<string, unknown>
  if (typeof stack !== 'string') return null
  return encodeCbor({
    name: cutText(typeof name === 'string' ? name : 'Error', CAUSE_MAX_BYTES),
    stack: cutText(stack, STACK_MAX_BYTES),
    ...(cause === undefined ? {} : { cause: cutText(messageOf(cause), CAUSE_MAX_BYTES) }),
  })
}

/** As much of a text as fits, in whole characters. */
function cutText(text: string, bytesMax: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytesMax))
  return text.slice(0, read).toWellFormed()
}

function isWait(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
