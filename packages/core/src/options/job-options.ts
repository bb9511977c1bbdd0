import { isHex32, utf8Length } from '../encoding/bytes.ts'
import type { JobId } from '../encoding/ids.ts'
import { isPlainObject } from '../encoding/plain-object.ts'
import type { KindName } from '../enqueue/kinds.ts'
import { invalidParams, limitExceeded } from '../errors.ts'
import type { Policy } from '../policy/policy.ts'

/** How long a job waits after a charge: `base·factor^n` up to the cap, with a jitter (OPTIONS-4). */
export interface Backoff {
  readonly baseMs: number
  readonly factorPermille: number
  readonly capMs: number
  readonly jitterPermille: number
}

/** The wishes of a requester about the course of one job. An option that was not given is absent (OPTIONS-1). */
export interface JobOptions {
  /** The job is not ready before this time. */
  readonly runAt?: number
  /** The charges that end the job. */
  readonly attempts?: number
  readonly backoff?: Backoff
  /** How long an attempt may take from its ack. */
  readonly timeoutMs?: number
  /** Its rank among the jobs of its caller; 0 if absent. */
  readonly priority?: number
  readonly tags?: readonly string[]
  /** While a live job of the caller, kind and name has this key, no other job gets it. */
  readonly dedupeKey?: string
  /** The job is not ready before these have ended. Without repeats. */
  readonly dependsOn?: readonly JobId[]
  /** What to do if one of them does not complete; `cancel` if absent. */
  readonly onDependency?: OnDependency
}

export const ON_DEPENDENCY = ['cancel', 'run'] as const
export type OnDependency = (typeof ON_DEPENDENCY)[number]

const DAY_MS = 86_400_000
export const RUN_AT_AHEAD_MAX_MS = 366 * DAY_MS
export const WEEK_MS = 7 * DAY_MS
export const TAGS_MAX = 8
export const DEPENDENCIES_MAX = 100
const DEDUPE_KEY_MAX_BYTES = 256
const TAG = /^[A-Za-z0-9_.:/-]{1,64}$/

interface Bounds {
  readonly min: number
  readonly max: number
}

export const ATTEMPTS: Bounds = { min: 1, max: 1_000 }
export const TIMEOUT_MS: Bounds = { min: 1_000, max: WEEK_MS }
/** From an hour to ten years. */
export const RETENTION_SECS: Bounds = { min: 3_600, max: 3_650 * 86_400 }
export const PRIORITY: Bounds = { min: -100, max: 100 }

/** The fields of a backoff as they are written, and their bounds. */
export const BACKOFF_FIELDS = {
  base_ms: { field: 'baseMs', min: 0, max: WEEK_MS },
  factor_permille: { field: 'factorPermille', min: 1_000, max: 10_000 },
  cap_ms: { field: 'capMs', min: 0, max: WEEK_MS },
  jitter_permille: { field: 'jitterPermille', min: 0, max: 1_000 },
} as const

/** The fields of a request that are options. */
export const OPTION_FIELDS = [
  'run_at',
  'delay_ms',
  'attempts',
  'backoff',
  'timeout_ms',
  'priority',
  'tags',
  'dedupe_key',
  'depends_on',
  'on_dependency',
] as const

type Written = Readonly<Record<string, unknown>>
type Draft = { -readonly [Name in keyof JobOptions]: JobOptions[Name] }

/** The options of a request, or null if it has none. `nowMs` is null where no time is known. */
export function readOptions(
  written: Written,
  { kind, policy, nowMs }: { kind: KindName; policy: Policy; nowMs: number | null },
): JobOptions | null {
  let isGiven = false
  for (const name of OPTION_FIELDS) {
    if (written[name] == null) continue
    isGiven = true
    if (kind === 'registration' && name !== 'tags') {
      throw invalidParams(name, 'none; of the options a registration takes tags only')
    }
  }
  if (!isGiven) return null
  const options: Draft = {}
  const runAt = readRunAt(written, nowMs)
  if (runAt !== null) options.runAt = runAt
  const attempts = readInt(written, 'attempts', ATTEMPTS)
  if (attempts !== null) options.attempts = attempts
  const { backoff } = written
  if (backoff != null) options.backoff = readBackoff(backoff)
  const timeoutMs = readInt(written, 'timeout_ms', TIMEOUT_MS)
  if (timeoutMs !== null) options.timeoutMs = timeoutMs
  const priority = readInt(written, 'priority', PRIORITY)
  if (priority !== null && priority !== 0) options.priority = allowedPriority(priority, policy)
  const tags = readTags(written['tags'])
  if (tags.length > 0) options.tags = tags
  const dedupeKey = readDedupeKey(written['dedupe_key'])
  if (dedupeKey !== null) options.dedupeKey = dedupeKey
  const dependsOn = readDependsOn(written['depends_on'])
  if (dependsOn.length > 0) options.dependsOn = dependsOn
  const onDependency = readOnDependency(written['on_dependency'], dependsOn)
  if (onDependency === 'run') options.onDependency = onDependency
  return Object.keys(options).length === 0 ? null : options
}

/** The text before a bad field of a backoff, or the backoff. */
export function readBackoff(written: unknown): Backoff {
  const names = Object.keys(BACKOFF_FIELDS)
  const expected = `an object with ${names.join(', ')}`
  if (!isPlainObject(written)) throw invalidParams('backoff', expected)
  for (const name of Object.keys(written)) {
    if (!names.includes(name)) throw invalidParams(`backoff.${name}`, `one of ${names.join(', ')}`)
  }
  const read = (name: keyof typeof BACKOFF_FIELDS): number => {
    const value = written[name]
    const bounds = BACKOFF_FIELDS[name]
    if (isIntWithin(value, bounds)) return value
    throw invalidParams(`backoff.${name}`, intText(bounds))
  }
  return {
    baseMs: read('base_ms'),
    factorPermille: read('factor_permille'),
    capMs: read('cap_ms'),
    jitterPermille: read('jitter_permille'),
  }
}

/** The written form of a backoff. */
export function showBackoff({ baseMs, factorPermille, capMs, jitterPermille }: Backoff) {
  return {
    base_ms: baseMs,
    factor_permille: factorPermille,
    cap_ms: capMs,
    jitter_permille: jitterPermille,
  }
}

/** A delay counts from the time of acceptance. */
function readRunAt({ run_at: at, delay_ms: delay }: Written, nowMs: number | null): number | null {
  if (at == null && delay == null) return null
  if (at != null && delay != null) {
    throw invalidParams('delay_ms', 'either run_at or delay_ms, not both')
  }
  if (delay != null) {
    const bounds = { min: 0, max: RUN_AT_AHEAD_MAX_MS }
    if (!isIntWithin(delay, bounds))
      throw invalidParams('delay_ms', intText(bounds, 'at most 366 days'))
    return delay === 0 ? null : (nowMs ?? 0) + delay
  }
  const max = nowMs === null ? Number.MAX_SAFE_INTEGER : nowMs + RUN_AT_AHEAD_MAX_MS
  if (isIntWithin(at, { min: 0, max })) return at
  throw invalidParams('run_at', 'a time in milliseconds since 1970, at most 366 days ahead')
}

function readInt(written: Written, name: string, bounds: Bounds): number | null {
  const value = written[name]
  if (value == null) return null
  if (isIntWithin(value, bounds)) return value
  throw invalidParams(name, intText(bounds))
}

/** Under fairness `score` the fee decides who goes first, so nobody can get ahead by a number (OPTIONS-6). */
function allowedPriority(priority: number, { match }: Policy): number {
  if (match.fairness === 'tenant') return priority
  throw invalidParams('priority', '0 or none; under match.fairness score the fee decides')
}

function readTags(written: unknown): readonly string[] {
  if (written == null) return []
  const expected = `a list of at most ${TAGS_MAX} texts of 1 to 64 of A–Z, a–z, 0–9 and _ . : / -`
  if (!Array.isArray(written)) throw invalidParams('tags', expected)
  if (written.length > TAGS_MAX) throw limitExceeded('tags', TAGS_MAX, written.length)
  if (!written.every(isTag)) throw invalidParams('tags', expected)
  return [...new Set(written)]
}

export function isTag(value: unknown): value is string {
  return typeof value === 'string' && TAG.test(value)
}

function readDedupeKey(written: unknown): string | null {
  if (written == null) return null
  if (typeof written !== 'string' || written === '' || !written.isWellFormed()) {
    throw invalidParams('dedupe_key', 'text of 1 to 256 bytes')
  }
  const bytes = utf8Length(written)
  if (bytes <= DEDUPE_KEY_MAX_BYTES) return written
  throw limitExceeded('dedupe_key', DEDUPE_KEY_MAX_BYTES, bytes)
}

function readDependsOn(written: unknown): readonly JobId[] {
  if (written == null) return []
  const expected = `a list of at most ${DEPENDENCIES_MAX} task_ids, each 0x and 64 lower-case hex digits`
  if (!Array.isArray(written)) throw invalidParams('depends_on', expected)
  if (written.length > DEPENDENCIES_MAX) {
    throw limitExceeded('depends_on', DEPENDENCIES_MAX, written.length)
  }
  if (!written.every((id) => isHex32(id))) throw invalidParams('depends_on', expected)
  return [...new Set(written as JobId[])]
}

function readOnDependency(written: unknown, dependsOn: readonly JobId[]): OnDependency | null {
  if (written == null) return null
  const word = ON_DEPENDENCY.find((one) => one === written)
  if (word === undefined) throw invalidParams('on_dependency', `one of ${ON_DEPENDENCY.join(', ')}`)
  if (dependsOn.length > 0) return word
  throw invalidParams('on_dependency', 'depends_on beside it, or none')
}

function isIntWithin(value: unknown, { min, max }: Bounds): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
}

function intText({ min, max }: Bounds, note = ''): string {
  return `a whole number from ${min} to ${max}${note === '' ? '' : ` (${note})`}`
}
