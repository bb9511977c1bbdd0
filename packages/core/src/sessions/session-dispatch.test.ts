import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jobIdOf, scriptJob, T0 } from '../../test/any-session-script.ts'
import type { PlatformPolicy } from '../policy/platform-policy.ts'
import type { DispatchJob } from './dispatch-job.ts'
import { type Service, SessionDispatch } from './session-dispatch.ts'
import type { SessionRequest } from './session-order.ts'

const GENEROUS = { maxConcurrency: 50, burst: 50, maxRpsMilli: 50_000, minSpacingMs: 0 }

/** A machine whose jobs are numbers and whose clock starts at the opening. */
function opened(given: Partial<PlatformPolicy> = {}) {
  const dispatch = new SessionDispatch({ default: { ...GENEROUS, ...given } })
  dispatch.advance(T0)
  const numbers = new Map<string, number>()
  return {
    dispatch,
    join(n: number, request: Partial<SessionRequest> = {}) {
      numbers.set(jobIdOf(n), n)
      return dispatch.join(scriptJob(n, request).request)
    },
    sendAt(ms: number, serve?: (job: DispatchJob) => Service): number[] {
      dispatch.advance(T0 + ms)
      return dispatch.sendReady(serve).map(({ job }) => numbers.get(job.entry.id) as number)
    },
    booked(n: number) {
      return dispatch.outcome(jobIdOf(n), { type: 'booked' })
    },
    refused(n: number, http: number, retryAfterMs = 0) {
      return dispatch.outcome(jobIdOf(n), { type: 'refused', http, retryAfterMs })
    },
    dueMs(): number | null {
      const at = dispatch.nextDueAt()
      return at === null ? null : at - T0
    },
  }
}

describe('sending', () => {
  it('DISPATCH-5: dispatch keys go in the byte order of their parts', () => {
    const { join, sendAt } = opened()
    join(1, { platform: 'b', orgRef: 'a' })
    join(2, { platform: 'a', orgRef: '\u{10151}' })
    join(3, { platform: 'a', orgRef: '\uffff' })
    join(4, { platform: 'B', orgRef: 'z' })
    expect(sendAt(0)).toEqual([4, 3, 2, 1])
  })

  it('SESSION-11, DISPATCH-2: a session that moves to an earlier time after its opening keeps its order', () => {
    const { dispatch, join, sendAt } = opened()
    const { request } = scriptJob(1)
    join(1)
    expect(sendAt(0, () => 'nobody')).toEqual([])
    join(2)
    dispatch.move(request, request.scheduledTime - 100)
    expect(sendAt(1)).toEqual([1, 2])
  })

  it('DISPATCH-5: a key without a job does not begin to wait when a round is full', () => {
    const { dispatch, join, sendAt } = opened()
    join(1)
    // It waits for a provider of its own, and ends before there is one.
    expect(sendAt(0, () => 'pass')).toEqual([])
    dispatch.cancel(jobIdOf(1))
    dispatch.sendReady(() => 'served', 0)
    expect(dispatch.orgs().map(({ unservedSince }) => unservedSince)).toEqual([null])
    // One with a job does.
    join(2)
    dispatch.sendReady(() => 'served', 0)
    expect(dispatch.orgs().map(({ unservedSince }) => unservedSince)).toEqual([1])
  })

  it('DISPATCH-5: where few are there to send, no key is served twice before another that waits', () => {
    // Workers of two platforms, with a place now and then, and restarts in between.
    const turns = fc.array(fc.record({ p: fc.nat(2), q: fc.nat(2), restarts: fc.boolean() }), {
      maxLength: 40,
    })
    fc.assert(
      fc.property(turns, (given) => {
        const rows = { default: { ...GENEROUS, maxConcurrency: 1_000, burst: 1_000 } }
        let dispatch = new SessionDispatch(rows)
        dispatch.advance(T0)
        const keys = ['p/a', 'p/b', 'p/c', 'q/a', 'q/b', 'r/a']
        for (let n = 0; n < 30 * keys.length; n++) {
          const [platform, orgRef] = (keys[n % keys.length] as string).split('/') as [
            string,
            string,
          ]
          dispatch.join(scriptJob(n, { platform, orgRef }).request)
        }
        const served = new Map<string, number>(keys.map((key) => [key, 0]))
        for (const { p, q, restarts } of given) {
          if (restarts) dispatch = new SessionDispatch(rows, { state: dispatch.state() })
          // Nobody is there for r, ever.
          const places = new Map([
            ['p', p],
            ['q', q],
          ])
          const sends = dispatch.sendReady(({ entry }): Service => {
            const left = places.get(entry.platform) ?? 0
            places.set(entry.platform, left - 1)
            return left > 0 ? 'served' : 'nobody'
          })
          const turns = new Set(
            sends.map(({ job: { entry } }) => `${entry.platform}/${entry.orgRef}`),
          )
          for (const key of turns) served.set(key, (served.get(key) ?? 0) + 1)
          for (const platform of ['p', 'q']) {
            const counts = keys
              .filter((key) => key.startsWith(platform))
              .map((key) => served.get(key) ?? 0)
            expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
          }
        }
      }),
    )
  })

  it('DISPATCH-5: where nobody is there to send, token and turn are kept, and it is asked again', () => {
    const { dispatch, join, sendAt, dueMs } = opened({ burst: 2, maxRpsMilli: 1 })
    join(1, { eventId: 'a' })
    join(2, { eventId: 'b' })
    expect(sendAt(0, () => 'nobody')).toEqual([])
    expect(dispatch.state().orgs[0]).toMatchObject({
      servedLast: null,
      budget: { level: 2_000_000 },
    })
    // The clock alone changes nothing, so it need not ring.
    expect(dueMs()).toBeNull()
    expect(sendAt(5)).toEqual([1, 2])
  })

  it('DISPATCH-5: it knows when the next send is possible: pace, token, entry in flight', () => {
    const { join, sendAt, booked, dueMs } = opened({
      ...{ maxConcurrency: 2, burst: 2, maxRpsMilli: 2_000, minSpacingMs: 40 },
    })
    for (const n of [1, 2, 3, 4]) join(n)
    expect([sendAt(0), dueMs()]).toEqual([[1], 40])
    expect([sendAt(40), dueMs()]).toEqual([[2], null])
    booked(1)
    expect([sendAt(60), dueMs()]).toEqual([[], 500])
    expect([sendAt(500), dueMs()]).toEqual([[3], null])
  })

  it('DISPATCH-8: one that nobody fits is passed over, and the others go at their own times', () => {
    const { dispatch, join, sendAt, dueMs } = opened({ minSpacingMs: 40 })
    for (const n of [1, 2, 3]) join(n)
    const allButFirst = ({ entry }: DispatchJob): Service =>
      entry.id === jobIdOf(1) ? 'pass' : 'served'
    expect([sendAt(0, allButFirst), dueMs()]).toEqual([[], 40])
    expect([sendAt(40, allButFirst), dueMs()]).toEqual([[2], 80])
    // Somebody who comes later does not wait for the next time that it is asked for the first one either.
    join(4, { eventId: 'other' })
    expect([sendAt(41, allButFirst), dueMs()]).toEqual([[4], 80])
    expect(dispatch.hasUnserved).toBe(true)
    expect(sendAt(42)).toEqual([1])
  })

  it('DISPATCH-5: where somebody is passed over and then nobody is there, the clock need not ring', () => {
    const { join, sendAt, dueMs } = opened()
    join(1)
    join(2)
    const neither = ({ entry }: DispatchJob): Service =>
      entry.id === jobIdOf(1) ? 'pass' : 'nobody'
    expect([sendAt(0, neither), dueMs()]).toEqual([[], null])
    expect(sendAt(1)).toEqual([1, 2])
  })

  it('DISPATCH-5: a limit that two keys share serves them in turns', () => {
    const { join, sendAt } = opened()
    for (const n of [1, 3, 5]) join(n, { orgRef: 'north' })
    for (const n of [2, 4, 6]) join(n, { orgRef: 'south' })
    const oneAtATime = () => {
      let left = 1
      return (): Service => (left-- > 0 ? 'served' : 'pass')
    }
    const served = [0, 1, 2, 3, 4, 5].flatMap((ms) => sendAt(ms, oneAtATime()))
    const keys = served.map((n) => (n % 2 === 1 ? 'north' : 'south'))
    expect(keys).toEqual(['north', 'south', 'north', 'south', 'north', 'south'])
  })

  it('DISPATCH-9: a dispatch key is forgotten once it is idle and its budget as new, not before', () => {
    const { dispatch, join, sendAt, refused, booked } = opened({
      ...{ burst: 2, maxRpsMilli: 1_000, maxConcurrency: 1, minSpacingMs: 100 },
    })
    const forgets = () => dispatch.forgetIdle(() => false).map(({ orgRef }) => orgRef)
    join(1, { orgRef: 'x' })
    expect(forgets()).toEqual([])
    sendAt(0)
    expect(forgets()).toEqual([])
    refused(1, 429, 0)
    sendAt(500)
    booked(1)
    // Rate and spacing are halved and doubled: of the ten seconds a step is over at 10 s, the last at 100 s.
    sendAt(99_999)
    expect(forgets()).toEqual([])
    sendAt(100_000)
    expect(dispatch.forgetIdle(({ orgRef }) => orgRef === 'x')).toEqual([])
    expect(forgets()).toEqual(['x'])
    expect(dispatch.state().orgs).toEqual([])
    // Used again, it has what a new one has.
    join(2, { orgRef: 'x' })
    expect(sendAt(100_001)).toEqual([2])
    expect(dispatch.state().orgs[0]).toMatchObject({ budget: { level: 1_000_000, halvedAt: null } })
  })

  it('DISPATCH-9: the last send of a session is known for as long as any spacing can ask for it', () => {
    const { dispatch, join, sendAt, booked } = opened({ minSpacingMs: 100 })
    join(1)
    sendAt(0)
    booked(1)
    sendAt(799)
    expect(dispatch.forgetIdle(() => false)).toEqual([])
    sendAt(800)
    expect(dispatch.forgetIdle(() => false)).toHaveLength(1)
  })

  it('DISPATCH-4: the figure of a session is forgotten with its last live job', () => {
    const { dispatch, join, sendAt, booked } = opened({
      weights: { a: 3 },
      burst: 1,
      maxRpsMilli: 1_000,
    })
    const credits = () => dispatch.state().orgs[0]?.credits
    join(1, { eventId: 'a' })
    join(2, { eventId: 'b' })
    expect([sendAt(0), credits()]).toEqual([
      [1],
      [
        ['a', -1],
        ['b', 1],
      ],
    ])
    booked(1)
    expect(credits()).toEqual([['b', 1]])
    join(3, { eventId: 'a' })
    expect([sendAt(1_000), credits()]).toEqual([
      [3],
      [
        ['a', -1],
        ['b', 2],
      ],
    ])
  })

  it('BUDGET-7: while the spacing is widened, sends of a session keep it, also after its last job', () => {
    const { join, sendAt, refused, booked, dueMs } = opened({ minSpacingMs: 100 })
    join(1, { eventId: 'a' })
    join(2, { eventId: 'b' })
    expect(sendAt(0)).toEqual([1, 2])
    refused(2, 429)
    booked(1)
    join(3, { eventId: 'a', scheduledTime: T0 - 1 })
    expect([sendAt(1), dueMs()]).toEqual([[], 200])
    join(4, { eventId: 'c' })
    expect([sendAt(2), dueMs()]).toEqual([[4], 200])
    expect(sendAt(200)).toEqual([3])
    // The retry was ready at 250, and has to keep its distance from nothing but its own session.
    expect(sendAt(250)).toEqual([2])
  })

  it('BUDGET-4: a 429 slows its dispatch key down and no other, also when the taxonomy calls it permanent', () => {
    const { dispatch, join, sendAt, refused } = opened({ errorTaxonomy: { '429': 'permanent' } })
    join(1, { orgRef: 'x' })
    join(2, { orgRef: 'y' })
    sendAt(0)
    expect(refused(1, 429).end).toEqual({ status: 'FAILED', reason: 'http_429', at: T0 })
    expect(dispatch.state().orgs.map(({ budget }) => budget.rate)).toEqual([25_000, 50_000])
  })

  it('DISPATCH-6: an outcome without an attempt in flight is a defect of the caller', () => {
    const { join, sendAt, booked } = opened()
    join(1)
    expect(() => booked(1)).toThrow('broken invariant')
    sendAt(0)
    booked(1)
    expect(() => booked(1)).toThrow('broken invariant')
  })
})

describe('time', () => {
  it('DISPATCH-1: an earlier time counts as the latest seen', () => {
    const { dispatch, join } = opened()
    dispatch.advance(T0 - 500)
    expect(dispatch.nowMs).toBe(T0)
    expect(join(1).entry).toMatchObject({ queuedAt: T0, rank: 0 })
  })

  it('DISPATCH-1: it rings for an opening, and those who waited are ranked then', () => {
    const dispatch = new SessionDispatch({ default: { ...GENEROUS, minSpacingMs: 10 } })
    dispatch.advance(T0 - 5)
    const jobs = [1, 2].map((n) => dispatch.join(scriptJob(n, { eventId: `e${n}` }).request))
    expect(dispatch.nextDueAt()).toBe(T0)
    dispatch.advance(T0)
    expect(jobs.map(({ entry }) => entry.rank)).toEqual([0, 0])
    expect(dispatch.sendReady()).toHaveLength(2)
  })

  it('ATTEMPT-4: a retry that would start after the window fails at once, one within it is made', () => {
    const { join, sendAt, refused } = opened({ windowMs: 500, backoffMs: [200] })
    join(1)
    join(2)
    sendAt(0)
    sendAt(300)
    expect(refused(1, 503)).toMatchObject({ retryAt: T0 + 500, end: null })
    expect(sendAt(301)).toEqual([])
    expect(refused(2, 503).end).toEqual({
      ...{ status: 'FAILED', reason: 'retry_window_exhausted', at: T0 + 301 },
    })
    expect(sendAt(500)).toEqual([1])
  })

  it('ATTEMPT-4: a retry that could not start within the window fails one ms after it, however late that is seen', () => {
    const { dispatch, join, sendAt, refused, dueMs } = opened({
      ...{ windowMs: 500, backoffMs: [10], burst: 1, maxRpsMilli: 1 },
    })
    join(1)
    sendAt(0)
    refused(1, 503)
    expect([sendAt(500), dueMs()]).toEqual([[], 501])
    const [failed] = dispatch.advance(T0 + 9_000)
    expect(failed?.end).toMatchObject({ reason: 'retry_window_exhausted', at: T0 + 501 })
  })

  it('ATTEMPT-4: the window counts from a first attempt that came after the opening', () => {
    const { join, sendAt, refused } = opened({ windowMs: 500, backoffMs: [300] })
    sendAt(60_000)
    join(1)
    sendAt(60_000)
    expect(refused(1, 503)).toMatchObject({ retryAt: T0 + 60_300, end: null })
  })

  it('ATTEMPT-4: after an attempt that could have booked, the reason is outcome_unknown', () => {
    const { dispatch, join, sendAt } = opened({
      ...{ windowMs: 500, backoffMs: [600], idempotencyKeySupported: true },
    })
    join(1)
    sendAt(0)
    expect(dispatch.outcome(jobIdOf(1), { type: 'unknown' }).end).toMatchObject({
      ...{ status: 'FAILED', reason: 'outcome_unknown' },
    })
  })

  it('ATTEMPT-6: a cancel in flight is noted and applied when the attempt ends', () => {
    const { dispatch, join, sendAt, refused } = opened()
    join(1)
    sendAt(0)
    expect(dispatch.cancel(jobIdOf(1))).toMatchObject({ isCancelNoted: true, end: null })
    expect(refused(1, 503).end).toMatchObject({ status: 'CANCELED', reason: null })
    expect(dispatch.cancel(jobIdOf(1))).toBeNull()
  })
})

describe('another policy', () => {
  it('BUDGET-8: budgets and windows follow at once, send times that were given stay', () => {
    const { dispatch, join, sendAt, refused, dueMs } = opened({
      minSpacingMs: 100,
      burst: 1,
      maxRpsMilli: 1,
    })
    const late = [1, 2].map((n) => join(n))[1]
    expect(sendAt(0)).toEqual([1])
    refused(1, 503)
    dispatch.changePolicies({ default: { ...GENEROUS, windowMs: 260 } })
    expect(late?.entry.sendAt).toBe(T0 + 100)
    // With the old rate the next token would have come after a quarter of an hour.
    expect(dueMs()).toBe(100)
    expect([sendAt(100), sendAt(120)]).toEqual([[2], []])
    dispatch.changePolicies({ default: { ...GENEROUS, windowMs: 10 } })
    expect(dispatch.advance(T0 + 130).map(({ end }) => end?.at)).toEqual([T0 + 120])
  })
})
