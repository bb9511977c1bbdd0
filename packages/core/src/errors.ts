/**
 * Every error code. A retryable call may succeed later without a change by the caller. A code is never renamed or
 * reused (ERROR-1).
 */
export const ERRORS = {
  InvalidParams: { retryable: false, text: 'a parameter or setting is missing or malformed' },
  LimitExceeded: { retryable: false, text: 'a size or count is over its cap' },
  IdempotencyConflict: { retryable: false, text: 'the key was used before for another request' },
  QueueOverCapacity: { retryable: true, text: 'the queue is at its depth limit' },
  NotFound: { retryable: false, text: 'there is no such job, lease or provider' },
  NoResultYet: { retryable: true, text: 'the job is still alive and has no result' },
  InvalidState: { retryable: false, text: 'the state it is in does not allow this call' },
  LeaseNotLive: { retryable: false, text: 'this attempt no longer holds the lease' },
  RenewalsExhausted: { retryable: false, text: 'the lease was renewed as often as allowed' },
  JobExpired: { retryable: false, text: 'the job ended without a result when its time ran out' },
  InsufficientStake: {
    retryable: false,
    text: 'the stake is below the minimum for what is offered',
  },
  AttestationError: { retryable: false, text: 'the evidence of a provider or proof does not hold' },
  NullifierReused: { retryable: false, text: 'this proof has been claimed before' },
  ClaimMismatch: { retryable: false, text: 'the proof does not belong to this job' },
  Unauthorized: { retryable: false, text: 'no valid token was given' },
  Forbidden: { retryable: false, text: 'it belongs to someone else' },
  RateLimited: { retryable: true, text: 'too many calls in a short time' },
  NotLeader: { retryable: true, text: 'another node leads this partition' },
  StoreUnavailable: { retryable: true, text: 'the store did not take the write' },
  EventsPruned: { retryable: false, text: 'the events asked for are no longer kept' },
  SchedulerClosed: { retryable: false, text: 'the scheduler takes no more work' },
  Internal: { retryable: false, text: 'a defect in Fairlead itself' },
} as const satisfies Record<string, { readonly retryable: boolean; readonly text: string }>

export type ErrorCode = keyof typeof ERRORS

export type ErrorDetails = Readonly<Record<string, unknown>>

/** The one error class of Fairlead. Branch on `code`, never on the message. */
export class FairleadError extends Error {
  override readonly name = 'FairleadError'
  readonly code: ErrorCode
  readonly details: ErrorDetails
  readonly retryable: boolean

  constructor(
    code: ErrorCode,
    message: string,
    details: ErrorDetails = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.code = code
    this.details = details
    this.retryable = ERRORS[code].retryable
  }
}

/** `InvalidParams` naming the field, as every refusal of input does (ERROR-2). */
export function invalidParams(field: string, expected: string, found?: string): FairleadError {
  const tail = found === undefined ? '' : `, got ${found}`
  // The name of an unknown field is the caller's own text and may have any length.
  const name = field.length > 64 ? `${field.slice(0, 63)}…` : field
  return new FairleadError('InvalidParams', `${name}: expected ${expected}${tail}`, { field })
}

/** `LimitExceeded` with the cap and the observed value (ENQUEUE-5). */
export function limitExceeded(limit: string, max: number, observed: number): FairleadError {
  return new FairleadError(
    'LimitExceeded',
    `${limit}: ${observed} is over the cap of ${max}; send less or ask the operator to raise the cap`,
    { limit, max, observed },
  )
}

/** A belief about our own code. If it is broken, the caller must stop, not limp on. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new FairleadError('Internal', `broken invariant: ${message}`)
}
