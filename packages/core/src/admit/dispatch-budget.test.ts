import { describe, expect, it } from 'vitest'
import { type PlatformPolicy, platformPolicy } from '../policy/platform-policy.ts'
import {
  admitsSend,
  advanceBudget,
  allowedInFlight,
  changeBudget,
  type DispatchBudget,
  nextRecoveryAt,
  nextTokenAt,
  openBudget,
  takeToken,
  throttleBudget,
  widenedSpacingMs,
} from './dispatch-budget.ts'

const T0 = 1_760_000_000_000
const policyWith = (given: Partial<PlatformPolicy> = {}): PlatformPolicy =>
  platformPolicy('acme', { acme: given })

/** A budget on its own clock, counted from T0. */
function budgetOf(policy: PlatformPolicy) {
  const budget = openBudget(policy, T0)
  return {
    budget,
    at(ms: number): DispatchBudget {
      advanceBudget(budget, policy, T0 + ms)
      return budget
    },
    throttle(ms: number, { sentMs = ms, retryAfterMs = 0 } = {}): DispatchBudget {
      throttleBudget(budget, policy, { nowMs: T0 + ms, sentAt: T0 + sentMs, retryAfterMs })
      return budget
    },
    /** The times of all sends until then, if one goes whenever it may. */
    sendsUntil(ms: number): number[] {
      const sends: number[] = []
      for (let t = budget.levelAt - T0; t <= ms; t++) {
        advanceBudget(budget, policy, T0 + t)
        while (admitsSend(budget, policy, { inFlight: 0, nowMs: T0 + t })) {
          takeToken(budget, policy, T0 + t)
          sends.push(t)
        }
      }
      return sends
    },
  }
}

describe('the budget of a dispatch key', () => {
  it('BUDGET-1: each field is the row of the platform, its built-in row, the row default, or 2, 4, 2/s, 50', () => {
    expect(platformPolicy('acme', {})).toEqual({
      maxConcurrency: 2,
      burst: 4,
      maxRpsMilli: 2_000,
      minSpacingMs: 50,
      windowMs: 120_000,
      backoffMs: [250, 500, 1_000, 2_000],
      idempotencyKeySupported: false,
      lookupSupported: false,
      errorTaxonomy: {},
      retryOnHttp: null,
      weights: null,
      timeZone: 'UTC',
    })
    expect(platformPolicy('bookeo', {})).toMatchObject({
      ...{ maxConcurrency: 3, burst: 6, maxRpsMilli: 3_000, minSpacingMs: 40 },
    })
    expect(platformPolicy('campminder', {})).toMatchObject({
      ...{ maxConcurrency: 1, burst: 2, maxRpsMilli: 1_000, minSpacingMs: 100 },
    })
    const rows = { default: { burst: 9, windowMs: 7, weights: {} }, bookeo: { maxConcurrency: 8 } }
    expect(platformPolicy('bookeo', rows)).toMatchObject({
      ...{ maxConcurrency: 8, burst: 6, windowMs: 7, weights: {} },
    })
    expect(platformPolicy('acme', rows)).toMatchObject({ maxConcurrency: 2, burst: 9 })
    expect(platformPolicy('default', rows)).toMatchObject({ maxConcurrency: 2, burst: 9 })
    for (const name of ['constructor', '__proto__', 'toString']) {
      expect(platformPolicy(name, {})).toEqual(platformPolicy('acme', {}))
    }
  })

  it('BUDGET-2: a full bucket at first, then the rate, to the millisecond', () => {
    const policy = policyWith({ burst: 3, maxRpsMilli: 300 })
    expect(budgetOf(policy).sendsUntil(10_001)).toEqual([0, 0, 0, 3_334, 6_667, 10_000])
  })

  it('BUDGET-2: no more than burst is ever inside, however long nothing is sent', () => {
    const { at } = budgetOf(policyWith({ burst: 3 }))
    expect(at(Number.MAX_SAFE_INTEGER - T0).level).toBe(3_000_000)
  })

  it('BUDGET-2: the next token is known in advance, and it never comes at rate 0', () => {
    const policy = policyWith({ burst: 1, maxRpsMilli: 300 })
    const { budget } = budgetOf(policy)
    expect(nextTokenAt(budget)).toBe(T0)
    takeToken(budget, policy, T0)
    expect(nextTokenAt(budget)).toBe(T0 + 3_334)
    budget.rate = 0
    expect(nextTokenAt(budget)).toBe(Infinity)
  })

  it('BUDGET-3: a full key admits no send, and one fewer does', () => {
    const policy = policyWith({ maxConcurrency: 2 })
    const { budget } = budgetOf(policy)
    expect([1, 2, 3].map((n) => admitsSend(budget, policy, { inFlight: n, nowMs: T0 }))).toEqual([
      ...[true, false, false],
    ])
  })
})

describe('a 429', () => {
  const policy = policyWith({ maxConcurrency: 5, maxRpsMilli: 2_001, minSpacingMs: 50 })

  it('BUDGET-4: halves rate and concurrency with floor and doubles the spacing', () => {
    expect(budgetOf(policy).throttle(0)).toMatchObject({
      rate: 1_000,
      conc10: 25,
      spacing10: 1_000,
    })
  })

  it('BUDGET-4: not below 0.1 a second, one in flight and eight times the spacing', () => {
    const { throttle, budget } = budgetOf(policy)
    for (let ms = 0; ms < 20; ms++) throttle(ms)
    expect(budget).toMatchObject({ rate: 100, conc10: 10, spacing10: 4_000 })
    expect(allowedInFlight(budget)).toBe(1)
    const slow = budgetOf(policyWith({ maxRpsMilli: 70, maxConcurrency: 1, minSpacingMs: 0 }))
    expect(slow.throttle(0)).toMatchObject({ rate: 70, conc10: 10, spacing10: 0 })
    expect(
      nextRecoveryAt(
        slow.budget,
        policyWith({ maxRpsMilli: 70, maxConcurrency: 1, minSpacingMs: 0 }),
      ),
    ).toBe(Infinity)
  })

  it('BUDGET-4: to an attempt sent before the last halving does not halve again, but starts the 10 s anew', () => {
    const { throttle, budget } = budgetOf(policy)
    throttle(500, { sentMs: 100 })
    expect(throttle(600, { sentMs: 499 })).toMatchObject({ rate: 1_000, halvedAt: T0 + 500 })
    expect(nextRecoveryAt(budget, policy)).toBe(T0 + 10_600)
    expect(throttle(700, { sentMs: 500 })).toMatchObject({ rate: 500, halvedAt: T0 + 700 })
  })

  it('BUDGET-4: what was refilled before it came in at the old rate', () => {
    const { throttle, budget, at } = budgetOf(policy)
    budget.level = 0
    expect(throttle(100).level).toBe(200_100)
    expect(at(200).level).toBe(300_100)
  })

  it('BUDGET-5: with Retry-After pauses the key, cuts the bucket to one token and stops the refill', () => {
    const { throttle, budget, at, sendsUntil } = budgetOf(policy)
    throttle(10, { retryAfterMs: 2_000 })
    expect(budget).toMatchObject({ level: 1_000_000, pausedUntil: T0 + 2_010 })
    expect(nextTokenAt(budget)).toBe(T0 + 2_010)
    expect(admitsSend(at(2_009), policy, { inFlight: 0, nowMs: T0 + 2_009 })).toBe(false)
    expect(sendsUntil(4_100)).toEqual([2_010, 3_010, 4_010])
  })

  it('BUDGET-5: with a shorter Retry-After does not end a pause, with a longer one prolongs it', () => {
    const { throttle, at } = budgetOf(policy)
    throttle(0, { retryAfterMs: 1_000 })
    expect(throttle(100, { retryAfterMs: 50 }).pausedUntil).toBe(T0 + 1_000)
    expect(throttle(900, { retryAfterMs: 300 }).pausedUntil).toBe(T0 + 1_200)
    expect(at(1_200).level).toBe(1_000_000)
  })

  it('BUDGET-5: without Retry-After, or with 0, pauses nothing and leaves the bucket', () => {
    const { throttle } = budgetOf(policy)
    expect(throttle(10)).toMatchObject({ level: 4_000_000, pausedUntil: null })
  })
})

describe('recovery', () => {
  const policy = policyWith({ maxConcurrency: 3, maxRpsMilli: 1_005, minSpacingMs: 50 })

  it('BUDGET-6: each 10 s without a 429 brings back a tenth of what is configured, until all is', () => {
    const { throttle, at, budget } = budgetOf(policy)
    throttle(0)
    expect(budget).toMatchObject({ rate: 502, conc10: 15, spacing10: 1_000 })
    expect(at(9_999)).toMatchObject({ rate: 502, conc10: 15, spacing10: 1_000 })
    expect(at(10_000)).toMatchObject({ rate: 603, conc10: 18, spacing10: 950 })
    expect(at(50_000)).toMatchObject({ rate: 1_005, conc10: 30, spacing10: 750 })
    expect(at(99_999)).toMatchObject({ rate: 1_005, conc10: 30, spacing10: 550 })
    expect(at(100_000)).toMatchObject({ rate: 1_005, conc10: 30, spacing10: 500 })
    expect(nextRecoveryAt(budget, policy)).toBe(Infinity)
  })

  it('BUDGET-6: one look after a long time finds what many looks would have', () => {
    const seldom = budgetOf(policy)
    const often = budgetOf(policy)
    for (const { throttle, budget } of [seldom, often]) {
      budget.level = 0
      throttle(7, { retryAfterMs: 12_345 })
    }
    for (let ms = 8; ms <= 30_000; ms++) often.at(ms)
    expect(seldom.at(30_000)).toEqual(often.budget)
  })

  it('BUDGET-6: a 429 at the moment of a recovery comes first and puts it off', () => {
    const { throttle, at } = budgetOf(policy)
    throttle(0)
    throttle(10_000, { sentMs: 9_000 })
    expect(at(10_000)).toMatchObject({ rate: 251, conc10: 10, spacing10: 2_000 })
    expect(at(20_000)).toMatchObject({ rate: 352, conc10: 13, spacing10: 1_950 })
  })

  it('BUDGET-7: the distance is rounded up, and there is none while it is as configured', () => {
    const narrow = policyWith({ minSpacingMs: 7 })
    const { throttle, at, budget } = budgetOf(narrow)
    expect(widenedSpacingMs(budget, narrow)).toBe(0)
    throttle(0)
    expect(widenedSpacingMs(at(10_000), narrow)).toBe(14)
    expect(widenedSpacingMs(at(90_000), narrow)).toBe(8)
    expect(widenedSpacingMs(at(100_000), narrow)).toBe(0)
  })
})

describe('another policy', () => {
  const old = policyWith({ maxConcurrency: 4, burst: 4, maxRpsMilli: 2_000, minSpacingMs: 50 })
  const changed = (budget: DispatchBudget, to: PlatformPolicy): DispatchBudget => {
    changeBudget(budget, { from: old, to, nowMs: T0 + 100 })
    return budget
  }

  it('BUDGET-8: counts at once where nothing was throttled; the bucket keeps what fits', () => {
    const to = policyWith({ maxConcurrency: 9, burst: 2, maxRpsMilli: 5_000, minSpacingMs: 10 })
    expect(changed(openBudget(old, T0), to)).toMatchObject({
      ...{ rate: 5_000, conc10: 90, spacing10: 100, level: 2_000_000 },
    })
  })

  it('BUDGET-8: what is throttled stays so, within the new bounds', () => {
    const { throttle, budget } = budgetOf(old)
    throttle(0)
    const to = policyWith({ maxConcurrency: 1, burst: 9, maxRpsMilli: 5_000, minSpacingMs: 5 })
    expect(changed(budget, to)).toMatchObject({
      ...{ rate: 1_000, conc10: 10, spacing10: 400, level: 4_000_000 },
    })
  })
})
