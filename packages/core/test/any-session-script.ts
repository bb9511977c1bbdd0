import { createHash } from 'node:crypto'
import fc from 'fast-check'
import type { JobId } from '../src/encoding/ids.ts'
import type { AttemptOutcome, Lookup } from '../src/outcome/judge-attempt.ts'
import type { PlatformPolicy, PlatformRows } from '../src/policy/platform-policy.ts'
import { type SessionRequest, sessionUser } from '../src/sessions/session-order.ts'

/** With the id that the hashes in it are made from. */
export type ScriptRequest = SessionRequest & { readonly userId: string }

/** A registration and all that will happen to it; the last attempt repeats. */
export interface ScriptJob {
  readonly request: ScriptRequest
  readonly queuedAt: number
  readonly cancelAt: number | null
  readonly attempts: readonly ScriptAttempt[]
}

export interface ScriptAttempt {
  readonly serviceMs: number
  readonly outcome: AttemptOutcome
}

export interface SessionScript {
  readonly rows: PlatformRows
  readonly jobs: readonly ScriptJob[]
}

export const T0 = 1_760_000_000_000

export const jobIdOf = (n: number): JobId =>
  `0x${createHash('sha256').update(String(n)).digest('hex')}` as JobId

/** What a test has to say of a job; the rest is as plain as can be. */
export function scriptJob(n: number, given: Partial<ScriptJob & ScriptRequest> = {}): ScriptJob {
  const { queuedAt = T0 - 1_000 + n, cancelAt = null, attempts, ...request } = given
  return {
    queuedAt,
    cancelAt,
    attempts: attempts ?? [{ serviceMs: 100, outcome: { type: 'booked' } }],
    request: withUser({
      id: jobIdOf(n),
      platform: 'acme',
      orgRef: 'org',
      eventId: 'e',
      userId: `u${n}`,
      scheduledTime: T0,
      ...request,
    }),
  }
}

function withUser(asked: Omit<ScriptRequest, 'tieBreaker' | 'seat'>): ScriptRequest {
  const { userId, scheduledTime, eventId } = asked
  return { ...asked, ...sessionUser(userId, scheduledTime, eventId) }
}

/** The attempt that a job meets at its n-th send, from 0. */
export function attemptOf({ attempts }: ScriptJob, n: number): ScriptAttempt {
  return attempts[Math.min(n, attempts.length - 1)] as ScriptAttempt
}

/** What a look at the bookings would find after n sends. */
export function lookupAfter(job: ScriptJob, sends: number): Lookup | null {
  const { outcome } = attemptOf(job, Math.max(0, sends - 1))
  return 'lookup' in outcome ? (outcome.lookup ?? null) : null
}

const lookups = fc.constantFrom<Lookup>('booked', 'not_booked', 'failed')
const retryAfters = fc.constantFrom(0, 1, 40, 600, 2_500)
const codes = fc.constantFrom('sold_out', 'not_yet_open', 'timeout', 'strange', 'constructor')
const statuses = fc.constantFrom(400, 408, 422, 500, 501, 503, 302)

const outcomes: fc.Arbitrary<AttemptOutcome> = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ type: 'booked' as const }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('refused' as const), http: statuses }) },
  {
    weight: 4,
    arbitrary: fc.record(
      { type: fc.constant('refused' as const), http: fc.constant(429), retryAfterMs: retryAfters },
      { requiredKeys: ['type', 'http'] },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.record(
      {
        type: fc.constant('refused' as const),
        error: codes,
        http: fc.oneof(statuses, fc.constant(429)),
        retryAfterMs: retryAfters,
        lookup: lookups,
      },
      { requiredKeys: ['type', 'error'] },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.record(
      { type: fc.constant('unknown' as const), lookup: lookups },
      { requiredKeys: ['type'] },
    ),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'unsent' as const }) },
)

const rows: fc.Arbitrary<Partial<PlatformPolicy>> = fc.record(
  {
    maxConcurrency: fc.integer({ min: 1, max: 5 }),
    burst: fc.integer({ min: 1, max: 5 }),
    maxRpsMilli: fc.constantFrom(70, 300, 1_000, 2_500, 12_345, 50_000),
    minSpacingMs: fc.constantFrom(0, 1, 7, 40, 120),
    backoffMs: fc.constantFrom([250, 500, 1_000], [1], [30, 10]),
    idempotencyKeySupported: fc.boolean(),
    lookupSupported: fc.boolean(),
    errorTaxonomy: fc.constantFrom(
      {},
      { sold_out: 'transient', '500': 'unknown' },
      { '429': 'permanent', strange: 'unknown', '302': 'permanent' },
    ),
    retryOnHttp: fc.constantFrom(null, [], [422, 503], [429, 302, 500]),
    weights: fc.constantFrom(null, {}, { a: 3 }, { a: 4, b: 2 }),
  },
  { requiredKeys: [] },
)
const windows = fc.constantFrom(0, 500, 3_000)

const jobs = fc.record({
  platform: fc.constantFrom('acme', 'acme', 'bookeo'),
  orgRef: fc.constantFrom('org', 'org', 'org2'),
  eventId: fc.constantFrom('a', 'b', 'c', '\uffff', '\u{10151}'),
  userId: fc.constantFrom('u1', 'u2', 'u3', 'u4'),
  scheduledTime: fc.constantFrom(T0, T0, T0, T0 + 300, T0 + 2_000),
  queuedAt: fc.constantFrom(-900, -500, -20, 0, 35, 400, 2_600).map((ms) => T0 + ms),
  cancelAfter: fc.oneof(
    { weight: 4, arbitrary: fc.constant(null) },
    fc.constantFrom(0, 20, 405, 600, 1_500),
  ),
  attempts: fc.array(
    fc.record({ serviceMs: fc.constantFrom(1, 20, 75, 200, 450, 1_100), outcome: outcomes }),
    { minLength: 1, maxLength: 4 },
  ),
})

/** Scripts in which a few sessions of a few keys get in each other's way. */
export const sessionScripts: fc.Arbitrary<SessionScript> = fc
  .tuple(rows, rows, windows, fc.array(jobs, { minLength: 1, maxLength: 16 }))
  .map(([acme, defaults, windowMs, list]) => ({
    rows: { acme, default: { ...defaults, windowMs } },
    jobs: list.map(({ queuedAt, cancelAfter, attempts, ...request }, n) => ({
      request: withUser({ ...request, id: jobIdOf(n) }),
      queuedAt,
      cancelAt: cancelAfter === null ? null : queuedAt + cancelAfter,
      attempts,
    })),
  }))
