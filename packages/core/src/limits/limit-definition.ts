import { isPlainObject } from '../encoding/plain-object.ts'
import { utf8Bytes } from '../encoding/text.ts'
import { invalidParams } from '../errors.ts'
import { exactThousandths } from '../policy/policy-field.ts'

/** The treatment of usage above the reserved amount that does not fit: held all the same, or not at all. */
export type Overage = 'debt' | 'deny'

interface AnyLimit {
  /** 1 to 256 bytes. */
  readonly key: string
  readonly overage?: Overage
  /** The subjects of tokens that may reserve on it over a wire; if left out, all may (LIMIT-21). */
  readonly callers?: readonly string[]
  /** The unit of the amounts, for people. */
  readonly unit?: string
  readonly description?: string
}

/** At most `capacity` in any span of the window (LIMIT-4). */
export interface RollingLimit extends AnyLimit {
  readonly kind: 'rolling'
  readonly capacity: number
  readonly windowSecs: number
}

/** At most `capacity` in each window, counted from the Unix epoch (LIMIT-5). */
export interface FixedLimit extends AnyLimit {
  readonly kind: 'fixed'
  readonly capacity: number
  readonly windowSecs: number
}

/** At most `capacity` at one time. A hold that is never completed ends after the timeout (LIMIT-6). */
export interface ConcurrencyLimit extends AnyLimit {
  readonly kind: 'concurrency'
  readonly capacity: number
  readonly timeoutSecs: number
}

/** `burst` tokens, full at first, refilled at `rate` per second (LIMIT-7). */
export interface BucketLimit extends AnyLimit {
  readonly kind: 'bucket'
  readonly burst: number
  /** At most three decimals. */
  readonly rate: number
}

/** A limit as it is defined. */
export type Limit = RollingLimit | FixedLimit | ConcurrencyLimit | BucketLimit
export type LimitKind = Limit['kind']
export type WindowLimit = Exclude<Limit, BucketLimit>

export const LIMIT_KINDS: readonly LimitKind[] = ['rolling', 'fixed', 'bucket', 'concurrency']
const KEY_BYTES_MAX = 256
/** About thirty years. With this maximum, `now` plus a window stays an exact number. */
const SECS_MAX = 1_000_000_000
const RATE_MAX = 1_000_000_000
const TEXT_BYTES_MAX = 1_024
export const LIMIT_CALLERS_MAX = 1_000
const CALLER_BYTES_MAX = 256

/** The limit as given, or `InvalidParams` naming the field (LIMIT-1). */
export function readLimit(given: unknown): Limit {
  if (!isPlainObject(given)) throw invalidParams('limit', 'an object with key and kind')
  const kind = given['kind']
  if (!isKind(kind)) throw invalidParams('kind', `one of ${LIMIT_KINDS.join(', ')}`)
  const limit = { ...commonFields(given), kind, ...FIELDS_OF[kind](given) } as Limit
  const unknown = Object.keys(given).find((field) => !Object.hasOwn(limit, field))
  if (unknown !== undefined && given[unknown] !== undefined) {
    throw invalidParams(unknown, `no such field in a ${kind} limit; it has ${fieldsOf(limit)}`)
  }
  return limit
}

/** The amount that a limit allows at one time: the capacity, or the burst of a bucket. */
export function capacityOf(limit: Limit): number {
  return limit.kind === 'bucket' ? limit.burst : limit.capacity
}

export function isLimitKey(key: unknown): key is string {
  return isTextWithin(key, KEY_BYTES_MAX)
}

/**
 * True for well-formed text of 1 to `bytesMax` bytes. A UTF-16 unit takes at most three bytes, so few texts must
 * be measured.
 */
export function isTextWithin(text: unknown, bytesMax: number): text is string {
  if (typeof text !== 'string' || text.length === 0 || text.length > bytesMax) return false
  if (!text.isWellFormed()) return false
  return text.length * 3 <= bytesMax || utf8Bytes(text) <= bytesMax
}

type Given = Readonly<Record<string, unknown>>

const FIELDS_OF: Readonly<Record<LimitKind, (given: Given) => object>> = {
  rolling: (given) => ({ capacity: capacity(given), windowSecs: seconds(given, 'windowSecs') }),
  fixed: (given) => ({ capacity: capacity(given), windowSecs: seconds(given, 'windowSecs') }),
  concurrency: (given) => ({
    capacity: capacity(given),
    timeoutSecs: seconds(given, 'timeoutSecs'),
  }),
  bucket: (given) => ({ burst: whole(given, 'burst', Number.MAX_SAFE_INTEGER), rate: rate(given) }),
}

function commonFields(given: Given): AnyLimit {
  const { key, overage = 'debt', callers, unit, description } = given
  if (!isLimitKey(key))
    throw invalidParams('key', `well-formed text of 1 to ${KEY_BYTES_MAX} bytes`)
  if (overage !== 'debt' && overage !== 'deny') throw invalidParams('overage', 'debt or deny')
  return {
    key,
    overage,
    ...owners(callers),
    ...text('unit', unit),
    ...text('description', description),
  }
}

function owners(callers: unknown): object {
  if (callers === undefined) return {}
  const isList = Array.isArray(callers) && callers.length <= LIMIT_CALLERS_MAX
  if (isList && callers.every((one) => isTextWithin(one, CALLER_BYTES_MAX))) {
    return { callers: [...callers] }
  }
  throw invalidParams(
    'callers',
    `at most ${LIMIT_CALLERS_MAX} subjects of tokens, each text of 1 to ${CALLER_BYTES_MAX} bytes`,
  )
}

function text(field: string, value: unknown): object {
  if (value === undefined) return {}
  if (value !== '' && !isTextWithin(value, TEXT_BYTES_MAX)) {
    throw invalidParams(field, `text of at most ${TEXT_BYTES_MAX} bytes`)
  }
  return { [field]: value }
}

function capacity(given: Given): number {
  return whole(given, 'capacity', Number.MAX_SAFE_INTEGER)
}

function seconds(given: Given, field: string): number {
  return whole(given, field, SECS_MAX)
}

function whole(given: Given, field: string, max: number): number {
  const value = given[field]
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= max) {
    return value
  }
  throw invalidParams(field, `a whole number from 1 to ${max}`)
}

function rate(given: Given): number {
  const { rate: value } = given
  const exact = typeof value === 'number' && value <= RATE_MAX ? exactThousandths(value) : null
  if (exact !== null && exact >= 1) return value as number
  throw invalidParams('rate', `from 0.001 to ${RATE_MAX} a second, with at most three decimals`)
}

function isKind(kind: unknown): kind is LimitKind {
  return LIMIT_KINDS.includes(kind as LimitKind)
}

function fieldsOf(limit: Limit): string {
  return [...new Set([...Object.keys(limit), 'callers', 'unit', 'description'])].join(', ')
}
