import { describe, expect, it } from 'vitest'
import { type PlatformPolicy, platformPolicy } from '../policy/platform-policy.ts'
import {
  classifyAnswer,
  type ErrorTaxonomy,
  failureReason,
  type OutcomeClass,
  type RefusedAnswer,
} from './classify.ts'
import {
  type AttemptContext,
  type AttemptOutcome,
  type Judgement,
  judgeAttempt,
  judgeCancel,
  type Lookup,
  lookupDecides,
  retryWaitMs,
} from './judge-attempt.ts'

const policyWith = (given: Partial<PlatformPolicy> = {}): PlatformPolicy =>
  platformPolicy('acme', { acme: given })

function judge(
  outcome: AttemptOutcome,
  given: Partial<PlatformPolicy> = {},
  context: Partial<AttemptContext> = {},
): Judgement {
  const known = { policy: policyWith(given), isCancelNoted: false, wasUnknown: false, ...context }
  return judgeAttempt(outcome, known)
}

const completed = { type: 'end', status: 'COMPLETED', reason: null }
const canceled = { type: 'end', status: 'CANCELED', reason: null }
const outcomeUnknown = { type: 'end', status: 'FAILED', reason: 'outcome_unknown' }
const retry = { type: 'retry', isUnknown: false, retryAfterMs: 0 }
const retryUnknown = { ...retry, isUnknown: true }
const lookups: (Lookup | undefined)[] = ['booked', 'not_booked', 'failed', undefined]
const unknown = (lookup?: Lookup): AttemptOutcome =>
  lookup === undefined ? { type: 'unknown' } : { type: 'unknown', lookup }

/** As `classifyAnswer`, with a taxonomy alone. */
function classOf(answer: RefusedAnswer, errorTaxonomy: ErrorTaxonomy): OutcomeClass {
  return classifyAnswer(answer, { errorTaxonomy, retryOnHttp: null })
}

describe('classes of answers', () => {
  it.each([
    ['transient', [408, 429, 500, 502, 503, 504, 501, 505, 599, 302, 200]],
    ['permanent', [400, 401, 403, 404, 409, 410, 422, 451, 499]],
  ])('ATTEMPT-1: by status, %s: %j', (expected, statuses) => {
    for (const http of statuses) expect(classOf({ http }, {})).toBe(expected)
  })

  it.each([
    ['transient', ['timeout', 'network', 'not_yet_open', 'strange', 'constructor', '']],
    ['permanent', ['validation_error', 'sold_out', 'not_found', 'auth_error']],
  ])('ATTEMPT-1: by code, %s: %j', (expected, codes) => {
    for (const error of codes) expect(classOf({ error }, {})).toBe(expected)
  })

  it('ATTEMPT-1: a code of the taxonomy, then a named code, then a status of it, then a named status', () => {
    const answer = { error: 'sold_out', http: 503 }
    expect(classOf(answer, { sold_out: 'unknown', '503': 'transient' })).toBe('unknown')
    expect(classOf(answer, { '503': 'transient' })).toBe('permanent')
    const strange = { error: 'strange', http: 503 }
    expect(classOf(strange, { '503': 'permanent' })).toBe('permanent')
    expect(classOf(strange, {})).toBe('transient')
    expect(classOf({ error: 'strange', http: 422 }, {})).toBe('permanent')
    expect(classOf({ error: '503' }, { '503': 'permanent' })).toBe('permanent')
  })

  it('ATTEMPT-10: a list names the transient statuses below 500, and of 500, 502, 503 and 504', () => {
    const meanings = {
      errorTaxonomy: { '404': 'transient' } as const,
      retryOnHttp: [409, 503, 302],
    }
    const classes = (statuses: readonly number[]) =>
      statuses.map((http) => classifyAnswer({ http }, meanings))
    expect(new Set(classes([409, 503, 302, 404]))).toEqual(new Set(['transient']))
    expect(new Set(classes([408, 429, 500, 502, 504, 400, 200]))).toEqual(new Set(['permanent']))
    // No list has a say in other 5xx, time-outs, broken lines and codes.
    expect(new Set(classes([501, 505, 599]))).toEqual(new Set(['transient']))
    for (const error of ['timeout', 'network', 'not_yet_open']) {
      expect(classifyAnswer({ error, http: 500 }, meanings)).toBe('transient')
    }
    expect(classifyAnswer({ error: 'sold_out', http: 503 }, meanings)).toBe('permanent')
    expect(classifyAnswer({ http: 503 }, { errorTaxonomy: {}, retryOnHttp: [] })).toBe('permanent')
  })

  it('ATTEMPT-2: the reason is the code, or http_ and the status', () => {
    expect(failureReason({ error: 'sold_out', http: 409 })).toBe('sold_out')
    expect(failureReason({ http: 409 })).toBe('http_409')
    const failed = { type: 'end', status: 'FAILED', reason: 'http_422' }
    expect(judge({ type: 'refused', http: 422 })).toEqual(failed)
  })
})

describe('what becomes of a job', () => {
  it('ATTEMPT-3: the list of waits, its last repeated, or Retry-After if longer', () => {
    const policy = policyWith({ backoffMs: [250, 500, 1_000] })
    expect([0, 1, 2, 3, 99].map((i) => retryWaitMs(policy, i, 0))).toEqual([
      ...[250, 500, 1_000, 1_000, 1_000],
    ])
    expect(retryWaitMs(policy, 1, 499)).toBe(500)
    expect(retryWaitMs(policy, 1, 501)).toBe(501)
    expect(judge({ type: 'refused', http: 503, retryAfterMs: 70 })).toEqual({
      ...{ type: 'retry', isUnknown: false, retryAfterMs: 70 },
    })
  })

  it('ATTEMPT-5: an unknown outcome ends the job where it can be neither repeated nor looked up', () => {
    for (const lookup of lookups) expect(judge(unknown(lookup))).toEqual(outcomeUnknown)
  })

  it('ATTEMPT-5: with an idempotency key it is repeated, whatever a lookup would find', () => {
    for (const lookupSupported of [false, true]) {
      const given = { idempotencyKeySupported: true, lookupSupported }
      for (const lookup of lookups) expect(judge(unknown(lookup), given)).toEqual(retryUnknown)
    }
  })

  it('ATTEMPT-5: else a lookup decides, and one that failed, or none, leaves it unknown', () => {
    const found = lookups.map((lookup) => judge(unknown(lookup), { lookupSupported: true }))
    expect(found).toEqual([completed, retry, outcomeUnknown, outcomeUnknown])
  })

  it('ATTEMPT-5: an answer that the taxonomy calls unknown is one', () => {
    const errorTaxonomy = { '500': 'unknown' } as const
    const answer: AttemptOutcome = { type: 'refused', http: 500, retryAfterMs: 9 }
    expect(judge(answer, { errorTaxonomy })).toEqual(outcomeUnknown)
    expect(judge(answer, { errorTaxonomy, idempotencyKeySupported: true })).toEqual({
      ...{ type: 'retry', isUnknown: true, retryAfterMs: 9 },
    })
    const looked: AttemptOutcome = { ...answer, lookup: 'booked' }
    expect(judge(looked, { errorTaxonomy, lookupSupported: true })).toEqual(completed)
  })

  it('ATTEMPT-6: with a cancel noted, booked stays booked and a definite failure is CANCELED', () => {
    const noted = { isCancelNoted: true }
    expect(judge({ type: 'booked' }, {}, noted)).toEqual(completed)
    for (const http of [422, 429, 503]) {
      expect(judge({ type: 'refused', http }, {}, noted)).toEqual(canceled)
    }
    expect(judge({ type: 'unsent' }, {}, noted)).toEqual(canceled)
  })

  it('ATTEMPT-6: with a cancel noted, an unknown outcome is looked up and not sent again', () => {
    for (const idempotencyKeySupported of [false, true]) {
      const given = { idempotencyKeySupported, lookupSupported: true }
      const found = lookups.map((lookup) => judge(unknown(lookup), given, { isCancelNoted: true }))
      expect(found).toEqual([completed, canceled, outcomeUnknown, outcomeUnknown])
      const blind = { idempotencyKeySupported }
      expect(judge(unknown('booked'), blind, { isCancelNoted: true })).toEqual(outcomeUnknown)
    }
  })

  it('ATTEMPT-7: a waiting job is CANCELED, unless its last attempt could have booked', () => {
    const asked = policyWith({ idempotencyKeySupported: true, lookupSupported: true })
    const blind = policyWith({ idempotencyKeySupported: true })
    expect(judgeCancel(false, asked, 'booked')).toEqual(canceled)
    expect(judgeCancel(true, asked, 'booked')).toEqual(completed)
    expect(judgeCancel(true, asked, 'not_booked')).toEqual(canceled)
    expect(judgeCancel(true, asked, 'failed')).toEqual(outcomeUnknown)
    expect(judgeCancel(true, asked, null)).toEqual(outcomeUnknown)
    expect(judgeCancel(true, blind, 'booked')).toEqual(outcomeUnknown)
  })

  it('ATTEMPT-7: a lookup is wanted exactly where it would decide', () => {
    const wanted = (key: boolean, lookup: boolean, isCancelNoted: boolean): boolean =>
      lookupDecides(
        policyWith({ idempotencyKeySupported: key, lookupSupported: lookup }),
        isCancelNoted,
      )
    expect([wanted(false, true, false), wanted(false, true, true)]).toEqual([true, true])
    expect([wanted(true, true, false), wanted(true, true, true)]).toEqual([false, true])
    expect([wanted(false, false, true), wanted(true, false, true)]).toEqual([false, false])
  })

  it('ATTEMPT-8: what was not sent is tried again, and does not make an unknown outcome known', () => {
    expect(judge({ type: 'unsent' })).toEqual(retry)
    const keyed = { idempotencyKeySupported: true }
    expect(judge({ type: 'unsent' }, keyed, { wasUnknown: true })).toEqual(retryUnknown)
    const both = { wasUnknown: true, isCancelNoted: true }
    expect(judge({ type: 'unsent' }, keyed, both)).toEqual(outcomeUnknown)
  })

  it('ATTEMPT-8: what was refused before the call that can book leaves as much open', () => {
    const keyed = { idempotencyKeySupported: true }
    const refused = { type: 'refused', error: 'sold_out', http: 409, isUnsent: true } as const
    expect(judge(refused, keyed, { wasUnknown: true })).toEqual(retryUnknown)
    expect(judge(refused, {}, { wasUnknown: true })).toEqual(outcomeUnknown)
    expect(judge(refused, keyed)).toMatchObject({ status: 'FAILED', reason: 'sold_out' })
  })
})
