import { type Field, int, isPlainObject, oneOf, type SettingsOf } from '@fairlead/core/internal'
import { type Condition, isCondition, isPath } from './profile.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

/** The generic HTTP adapter as it is written. A call is there when it has a URL. */
// biome-ignore format: one setting a line, so that the table can be read as one
export const ADAPTER_FIELDS = {
  timeoutMs: int(10_000, { min: 50, max: 50_000 }, 'how long a call may take, from the connection to the last byte'),
  lookupSettleMs: int(2_000, { min: 0, max: 30_000 }, 'how long the platform may still book a request whose answer was lost; before that "not booked" is not believed'),
  idempotencyKeyName: optional('a name', 'header, field or parameter of the key; null: Idempotency-Key, or idempotency_key', isText),
  credentials: texts('secret of each organisation by org_ref, `default` for all others; {credential} in a template'),
  book: call('POST', 'books a seat'),
  hold: call('POST', 'holds a seat'),
  commit: call('POST', 'books the seat that is held, {hold_id}'),
  release: call('DELETE', 'gives back the seat that is held, {hold_id}'),
  lookup: call('GET', 'asks whether the job has a booking'),
  charge: call('POST', 'takes the success fee of a booking, {booking_number?}; its {idempotency_key} is that of the fee'),
  answer: {
    bookingNumber: path('where the booking number stands'),
    errorCode: path('where the error code stands'),
    holdId: path('where the id of a hold stands'),
    waitlisted: condition('says that it is a place on the waitlist'),
  },
  lookupAnswer: {
    bookingNumber: path('the same in the answer to a lookup; null: as in answer'),
    found: condition('says that there is a booking; null: it has a booking number'),
    waitlisted: condition('the same for a place on the waitlist; null: as in answer'),
  },
  errorCodes: texts("the platform's error codes in the words of the taxonomy, as in FULL: sold_out"),
} as const

export type WrittenAdapter = SettingsOf<typeof ADAPTER_FIELDS>
export type WrittenCall = WrittenAdapter['book']

function call(method: Method, purpose: string) {
  return {
    method: oneOf<Method>(method, METHODS, `method of the call that ${purpose}`),
    url: optional('a URL', `URL of the call that ${purpose}`, isText),
    headers: texts('its headers'),
    body: body('its body, sent as JSON; null: none'),
  }
}

function isText(written: unknown): written is string {
  return typeof written === 'string' && written !== ''
}

function path(purpose: string): Field<string | null> {
  return optional('a path such as booking.number', purpose, isPath)
}

function condition(purpose: string): Field<Condition | null> {
  return optional('{path: status, equals: [waitlisted]}', purpose, isCondition)
}

/** Anything; its templates are checked when they are read. */
function body(purpose: string): Field<unknown> {
  return { default: null, expected: 'a value', purpose, read: same, show: same }
}

function texts(purpose: string): Field<Readonly<Record<string, string>>> {
  return {
    default: {},
    expected: 'a map of texts',
    purpose,
    read: (written) =>
      isPlainObject(written) && Object.values(written).every(isText)
        ? { ...(written as Record<string, string>) }
        : undefined,
    show: same,
  }
}

function optional<T>(
  expected: string,
  purpose: string,
  is: (written: unknown) => written is T,
): Field<T | null> {
  return {
    default: null,
    expected: `${expected}, or null`,
    purpose,
    read: (written) => (written === null || is(written) ? written : undefined),
    show: same,
  }
}

function same<T>(value: T): T {
  return value
}
