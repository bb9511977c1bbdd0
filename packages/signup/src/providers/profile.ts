import {
  type ErrorTaxonomy,
  type Field,
  isPlainObject,
  type OutcomeClass,
  oneOf,
  type SettingsOf,
} from '@fairlead/core/internal'

/** A thing that nobody has found out yet. It decides like a no, and is shown as what it is. */
export type Unknown = 'unknown'

/** A value in a JSON answer: there at all, or one of those given. */
export interface Condition {
  readonly path: string
  readonly equals?: readonly (string | number | boolean)[]
}

/** Which answer means that a seat is secured; what is left out asks for nothing. */
export interface SuccessDefinition extends Partial<Condition> {
  /** 200 to 299 where it is left out. */
  readonly http?: readonly number[]
}

const BOOKING_MODELS = [
  'immediate_commit',
  'hold_then_commit',
  'checkout_finalizes',
  'waitlist_only',
  'unknown',
] as const
const KEY_LOCATIONS = ['header', 'body', 'query', 'none', 'unknown'] as const
const CLASSES: readonly OutcomeClass[] = ['transient', 'permanent', 'unknown']
const RATE_LIMIT_SCOPES = ['org_key', 'ip', 'user', 'unknown'] as const

/** The capability profile of a platform: nine fields, unknown where nobody has said anything (PROFILE-1). */
// biome-ignore format: one setting a line, so that the table can be read as one
export const PROFILE_FIELDS = {
  bookingModel: oneOf<(typeof BOOKING_MODELS)[number]>('unknown', BOOKING_MODELS, 'what makes a booking final'),
  supportsHold: orUnknown<boolean>('true or false', 'a seat can be held before it is booked', isBoolean),
  holdTtlMs: orUnknown<number | null>('a whole number from 1 to 86400000, or null', 'how long a hold lasts', isHoldTtl),
  supportsWaitlist: orUnknown<boolean>('true or false', 'who finds no seat may get a place on a waitlist', isBoolean),
  idempotencyKeySupported: orUnknown<boolean>('true or false', 'a request that comes twice with one key books once', isBoolean),
  idempotencyKeyLocation: oneOf<(typeof KEY_LOCATIONS)[number]>('unknown', KEY_LOCATIONS, 'where that key stands in a request'),
  rateLimitScope: oneOf<(typeof RATE_LIMIT_SCOPES)[number]>('unknown', RATE_LIMIT_SCOPES, 'whom the platform counts requests for; shown, and changes nothing'),
  errorTaxonomy: errorTaxonomy(),
  successDefinition: orUnknown<SuccessDefinition>('{http: [200], path: status, equals: [confirmed]}, each optional', 'which answer means that a seat is secured', isSuccessDefinition),
} as const

export type Profile = SettingsOf<typeof PROFILE_FIELDS>

/** What does not fit together in a profile. */
export function profileProblems(profile: Profile): string[] {
  const problems: string[] = []
  const { idempotencyKeySupported, idempotencyKeyLocation, bookingModel } = profile
  if (idempotencyKeySupported === true && ['none', 'unknown'].includes(idempotencyKeyLocation)) {
    problems.push(
      `profile.idempotency_key_location: expected header, body or query where idempotency_key_supported is true, got ${idempotencyKeyLocation}`,
    )
  }
  if (bookingModel === 'hold_then_commit') {
    if (profile.supportsHold !== true) {
      problems.push('profile.supports_hold: expected true where booking_model is hold_then_commit')
    }
    if (typeof profile.holdTtlMs !== 'number') {
      problems.push(
        'profile.hold_ttl_ms: expected a number where booking_model is hold_then_commit; a hold is only used while it lasts',
      )
    }
  }
  if (bookingModel === 'checkout_finalizes' && profile.successDefinition === 'unknown') {
    problems.push(
      'profile.success_definition: expected one where booking_model is checkout_finalizes; say which answer means that the checkout is through',
    )
  }
  return problems
}

export function isCondition(written: unknown): written is Condition {
  if (!isPlainObject(written)) return false
  const { path, equals, ...rest } = written
  return isPath(path) && Object.keys(rest).length === 0 && isEquals(equals)
}

/** Names and positions with dots between: `booking.seats.0.number`. */
export function isPath(written: unknown): written is string {
  return typeof written === 'string' && /^[^.\s]+(?:\.[^.\s]+)*$/.test(written)
}

/** A status of HTTP that is an answer. */
export function isStatus(written: unknown): written is number {
  return Number.isInteger(written) && (written as number) >= 200 && (written as number) <= 599
}

function isSuccessDefinition(written: unknown): written is SuccessDefinition {
  if (!isPlainObject(written)) return false
  const { http, path, equals, ...rest } = written
  if (Object.keys(rest).length > 0 || !isEquals(equals)) return false
  if (path === undefined ? equals !== undefined : !isPath(path)) return false
  return http === undefined || (Array.isArray(http) && http.length > 0 && http.every(isStatus))
}

function isEquals(written: unknown): boolean {
  if (written === undefined) return true
  const isPlain = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)
  return Array.isArray(written) && written.length > 0 && written.every(isPlain)
}

function isBoolean(written: unknown): written is boolean {
  return typeof written === 'boolean'
}

function isHoldTtl(written: unknown): written is number | null {
  if (written === null) return true
  return Number.isInteger(written) && (written as number) >= 1 && (written as number) <= 86_400_000
}

function errorTaxonomy(): Field<ErrorTaxonomy> {
  return {
    default: {},
    expected: `a map of error codes and statuses, each to ${CLASSES.join(', ')}`,
    purpose: 'what the platform means by its errors; decides before everything else',
    read: (written) => {
      if (!isPlainObject(written)) return undefined
      const isClass = (value: unknown) => CLASSES.includes(value as OutcomeClass)
      return Object.values(written).every(isClass) ? { ...(written as ErrorTaxonomy) } : undefined
    },
    show: (kept) => kept,
  }
}

function orUnknown<T>(
  expected: string,
  purpose: string,
  is: (written: unknown) => written is T,
): Field<T | Unknown> {
  return {
    default: 'unknown',
    expected: `${expected}, or unknown`,
    purpose,
    read: (written) => (written === 'unknown' || is(written) ? written : undefined),
    show: (kept) => kept,
  }
}
