import { test } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  adjustRatios,
  initRatios,
  type ModelLimits,
  poolOf,
  SharedUsage,
  typeSlots,
} from '../src/internal.ts'
import { RATIO_POLICY, WHOLE_PPM } from '../src/slots/job-type-ratios.ts'
import { mayBorrow } from '../src/slots/slot-pool.ts'
import { refusal } from './refusal.ts'

const MINUTE = 60_000
const START = 1_767_261_600_000
const NO_LIMITS: ModelLimits = { tpm: null, rpm: null, tpd: null, rpd: null, maxConcurrency: null }
const NOTHING_USED = { tpm: 0, rpm: 0, tpd: 0, rpd: 0 }

const anyLimits: fc.Arbitrary<ModelLimits> = fc.record({
  tpm: fc.option(fc.nat(5_000)),
  rpm: fc.option(fc.nat(50)),
  tpd: fc.option(fc.nat(20_000)),
  rpd: fc.option(fc.nat(200)),
  maxConcurrency: fc.option(fc.nat(10)),
})
const anyUsed = fc.record({
  tpm: fc.nat(6_000),
  rpm: fc.nat(60),
  tpd: fc.nat(20_000),
  rpd: fc.nat(200),
})
const anyEstimate = fc.record({ tokens: fc.nat(900), requests: fc.nat(3) })

describe('pools', () => {
  test.prop([anyLimits, anyUsed, fc.integer({ min: 1, max: 9 }), fc.array(anyEstimate)])(
    'SLOT-2, SLOT-3: the shares of all instances and the common part are what remains, no more, no less',
    (limits, used, instances, jobTypes) => {
      const { shares, common } = poolOf({ limits, used, instances, jobTypes, estimate: 'average' })
      for (const dimension of ['tpm', 'rpm', 'tpd', 'rpd'] as const) {
        const limit = limits[dimension]
        if (limit === null) expect(shares[dimension]).toBeNull()
        else {
          const remaining = Math.max(0, limit - used[dimension])
          expect(instances * (shares[dimension] ?? 0) + (common[dimension] ?? 0)).toBe(remaining)
          expect(common[dimension]).toBeLessThan(instances)
        }
      }
    },
  )

  it('SLOT-2: no limit at all gives no number of slots, a limit of zero gives none', () => {
    const of = (limits: ModelLimits) =>
      poolOf({
        limits,
        used: NOTHING_USED,
        instances: 2,
        jobTypes: [{ tokens: 10, requests: 1 }],
        estimate: 'average',
      }).totalSlots
    expect(of(NO_LIMITS)).toBeNull()
    expect(of({ ...NO_LIMITS, rpm: 0 })).toBe(0)
    expect(of({ ...NO_LIMITS, maxConcurrency: 7, rpm: 100 })).toBe(3)
  })

  test.prop([fc.nat(10_000), fc.integer({ min: 1, max: 5 })])(
    'SLOT-4: the slots of all types are never more than there are, unless the minimum makes them so',
    (totalSlots, types) => {
      const ratios = initRatios(
        Array.from({ length: types }, (_, i) => ({ name: `t${i}`, initialPpm: null })),
      )
      const slots = [...ratios.values()].map((ratioPpm) =>
        typeSlots({
          shares: { tpm: null, rpm: null, tpd: null, rpd: null, concurrency: null },
          totalSlots,
          ratioPpm,
          estimate: { tokens: 1, requests: 1 },
          minCapacity: 0,
        }),
      )
      const sum = slots.reduce((total, { slots: { concurrency } }) => total + (concurrency ?? 0), 0)
      expect(sum).toBeLessThanOrEqual(totalSlots)
    },
  )
})

describe('borrowing', () => {
  const part = {
    estimate: { tokens: 10, requests: 1 },
    own: { minute: false, day: false },
    left: { tpm: 30, rpm: null, tpd: null, rpd: null },
    kept: { tpm: 20, rpm: 0, tpd: 0, rpd: 0 },
    totalSlots: 5,
    inFlight: 4,
  }

  it('SLOT-18: one fits into what the free slots of the others leave, and one more at one time', () => {
    expect(mayBorrow(part)).toBe(true)
    expect(mayBorrow({ ...part, kept: { ...part.kept, tpm: 21 } })).toBe(false)
    expect(mayBorrow({ ...part, inFlight: 5 })).toBe(false)
    expect(mayBorrow({ ...part, totalSlots: null, inFlight: 5 })).toBe(true)
  })

  it('SLOT-18: of a window in which the type has slots left nothing is borrowed', () => {
    const full = { ...part, left: { ...part.left, tpm: 0, tpd: 30 } }
    expect(mayBorrow(full)).toBe(false)
    expect(mayBorrow({ ...full, own: { minute: true, day: false } })).toBe(true)
    expect(mayBorrow({ ...full, own: { minute: false, day: true } })).toBe(false)
  })

  it('SLOT-9: in the adjustment a type uses at most its slots', () => {
    const type = (name: string, ratioPpm: number, slots: number, used: number) => ({
      name,
      ratioPpm,
      flexible: true,
      slots,
      used,
    })
    const idle = type('c', 600_000, 60, 0)
    const of = (used: number) =>
      adjustRatios([type('a', 200_000, 20, used), type('b', 200_000, 20, 20), idle], RATIO_POLICY)
    expect([...of(80)]).toEqual([...of(20)])
    expect(of(80).get('a')).toBe(300_000)
  })
})

describe('ratios', () => {
  const anyInitial = fc.array(fc.option(fc.nat(500_000)), { minLength: 1, maxLength: 6 })

  test.prop([anyInitial])('SLOT-8: they add up to the whole, or are InvalidParams', (initial) => {
    const types = initial.map((initialPpm, i) => ({ name: `t${i}`, initialPpm }))
    const given = initial.reduce<number>((sum, ppm) => sum + (ppm ?? 0), 0)
    const isPossible = given === WHOLE_PPM || (given < WHOLE_PPM && initial.includes(null))
    expect(refusal(() => initRatios(types))).toBe(isPossible ? null : 'InvalidParams')
    if (isPossible) expect(sumOf(initRatios(types))).toBe(WHOLE_PPM)
  })

  const anyLoads = fc.array(
    fc.record({ flexible: fc.boolean(), slots: fc.option(fc.nat(50)), used: fc.nat(50) }),
    { minLength: 1, maxLength: 6 },
  )

  test.prop([anyLoads])(
    'SLOT-9: an adjustment keeps the sum, moves nothing fixed and starves nobody',
    (loads) => {
      const start = initRatios(loads.map((_, i) => ({ name: `t${i}`, initialPpm: null })))
      const types = loads.map((load, i) => {
        const used = Math.min(load.used, load.slots ?? load.used)
        return { ...load, used, name: `t${i}`, ratioPpm: start.get(`t${i}`) ?? 0 }
      })
      const after = adjustRatios(types, RATIO_POLICY)
      expect(sumOf(after)).toBe(WHOLE_PPM)
      for (const { name, ratioPpm, flexible } of types) {
        const ratio = after.get(name) ?? 0
        if (!flexible) expect(ratio).toBe(ratioPpm)
        expect(ratio).toBeGreaterThanOrEqual(Math.min(ratioPpm, RATIO_POLICY.minRatioPpm))
        expect(ratioPpm - ratio).toBeLessThanOrEqual(RATIO_POLICY.maxAdjustmentPpm)
      }
    },
  )
})

describe('what all instances share', () => {
  const anyCall = fc.record({
    gap: fc.nat(20_000),
    release: fc.boolean(),
    estimate: anyEstimate,
    actual: fc.option(anyEstimate),
  })

  test.prop([anyLimits, fc.array(anyCall, { maxLength: 60 })])(
    'SLOT-5: what is started never passes a limit of the minute or the day',
    (limits, calls) => {
      const usage = new SharedUsage(limits)
      const running: string[] = []
      let at = START
      for (const [i, { gap, release, estimate, actual }] of calls.entries()) {
        at += gap
        if (release) {
          // Within the estimate: usage beyond it is counted whatever the limit says.
          const within = actual && { tokens: 0, requests: 0 }
          usage.release(running.shift() ?? 'none', within, at)
        } else if (usage.acquire(`r${i}`, estimate, at).allowed) running.push(`r${i}`)
        const used = usage.used(at)
        for (const dimension of ['tpm', 'rpm', 'tpd', 'rpd'] as const) {
          expect(used[dimension]).toBeGreaterThanOrEqual(0)
          expect(used[dimension]).toBeLessThanOrEqual(limits[dimension] ?? Number.POSITIVE_INFINITY)
        }
        expect(usage.inFlight).toBeLessThanOrEqual(limits.maxConcurrency ?? running.length)
        expect(usage.inFlight).toBe(running.length)
      }
    },
  )

  it('SLOT-1: windows are fixed, and a counter belongs to one', () => {
    const usage = new SharedUsage({ ...NO_LIMITS, rpm: 1 })
    expect(usage.acquire('a', { tokens: 1, requests: 1 }, START + MINUTE - 1).allowed).toBe(true)
    expect(usage.acquire('b', { tokens: 1, requests: 1 }, START + MINUTE - 1)).toEqual({
      allowed: false,
      denied: 'rpm',
    })
    expect(usage.acquire('b', { tokens: 1, requests: 1 }, START + MINUTE).allowed).toBe(true)
  })

  it('SLOT-5: the same reference again starts nothing more', () => {
    const usage = new SharedUsage({ ...NO_LIMITS, rpm: 1 })
    usage.acquire('a', { tokens: 1, requests: 1 }, START)
    expect(usage.acquire('a', { tokens: 1, requests: 1 }, START).allowed).toBe(true)
    expect(usage.used(START).rpm).toBe(1)
  })

  it('SLOT-7: the rest goes back to the windows of the start alone, more counts in the current', () => {
    const usage = new SharedUsage({ ...NO_LIMITS, tpm: 1_000 })
    usage.acquire('a', { tokens: 800, requests: 1 }, START)
    usage.release('a', { tokens: 300, requests: 1 }, START + MINUTE)
    expect(usage.used(START + MINUTE)).toEqual({ tpm: 0, rpm: 0, tpd: 300, rpd: 1 })
    usage.acquire('b', { tokens: 800, requests: 1 }, START + MINUTE)
    const answer = usage.release('b', { tokens: 900, requests: 1 }, START + 2 * MINUTE)
    expect(answer).toEqual({ overage: { tokens: 100, requests: 0 } })
    expect(usage.used(START + 2 * MINUTE).tpm).toBe(100)
  })

  it('SLOT-7: a job that does not say what it used keeps its estimate', () => {
    const usage = new SharedUsage(NO_LIMITS)
    usage.acquire('a', { tokens: 8, requests: 1 }, START)
    usage.release('a', null, START)
    expect(usage.used(START).tpm).toBe(8)
    expect(usage.inFlight).toBe(0)
  })
})

function sumOf(ratios: ReadonlyMap<string, number>): number {
  return [...ratios.values()].reduce((sum, ratio) => sum + ratio, 0)
}
