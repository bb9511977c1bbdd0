import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parsePolicy } from '../policy/policy.ts'
import { scoreAt, scoreTerms, shownScore, staticScore } from './score.ts'

const FUND = parsePolicy({}, 'fund').priority
const R = 1_000_000n
const JOB = { fee: 0n, sizeBytes: 1_000, tier: 'FREE', readyTs: 0 }

describe('terms', () => {
  it('ORDER-1: the fee term is R·fee / (fee + fee_half), rounded down', () => {
    const fee = (n: bigint) => scoreTerms({ ...JOB, fee: n }, 0, FUND).fee
    expect([fee(0n), fee(1n), fee(999_999n)]).toEqual([0, 0, 499_999])
    expect([fee(1_000_000n), fee(1_000_001n)]).toEqual([500_000, 500_000])
    expect([fee(1_000_002n), fee(3_000_000n)]).toEqual([500_000, 750_000])
    // A u64 does not fit a double, and R is never reached.
    expect(fee(2n ** 64n - 1n)).toBe(999_999)
  })

  it('ORDER-1: the size term is R·size_half / (size_bytes + size_half), rounded down', () => {
    const size = (n: number) => scoreTerms({ ...JOB, sizeBytes: n }, 0, FUND).size
    expect([size(0), size(1), size(16_384), size(16_385)]).toEqual([
      1_000_000, 999_938, 500_000, 499_984,
    ])
    expect(size(2 ** 40)).toBe(0)
  })

  it('ORDER-1: the tier term is that of the policy', () => {
    const tier = (name: string) => scoreTerms({ ...JOB, tier: name }, 0, FUND).tier
    expect(['FREE', 'PRO', 'PREMIUM'].map(tier)).toEqual([0, 300_000, 600_000])
  })

  it('ORDER-1: age is the difference of whole seconds, up to the horizon', () => {
    const age = (readyTs: number, now: number) => scoreTerms({ ...JOB, readyTs }, now, FUND).ageSecs
    expect([age(999, 999), age(999, 1_000), age(1_000, 1_999), age(1_000, 2_000)]).toEqual([
      0, 1, 0, 1,
    ])
    expect([age(0, 3_599_999), age(0, 3_600_000), age(0, 3_601_000)]).toEqual([3_599, 3_600, 3_600])
  })

  it.each(['GOLD', 'free', '', 'constructor', '__proto__'])(
    'ORDER-9: the tier %j, which the policy does not name, has no term',
    (tier) => {
      expect(scoreTerms({ ...JOB, tier }, 0, FUND).tier).toBe(0)
      expect(staticScore({ ...JOB, tier }, FUND)).toBe(staticScore(JOB, FUND))
    },
  )
})

describe('score', () => {
  it('ORDER-2: the score is the exact integer of the rules, for every policy and job', () => {
    const weights = fc
      .tuple(fc.nat({ max: 1_000 }), fc.nat({ max: 1_000 }), fc.nat({ max: 1_000 }))
      .map((cuts) => cuts.toSorted((a, b) => a - b) as [number, number, number])
      .map(([a, b, c]) => ({
        fee: a / 1_000,
        age: (b - a) / 1_000,
        size: (c - b) / 1_000,
        tier: (1_000 - c) / 1_000,
      }))
    const written = fc.record({
      weights,
      fee_half: fc.bigInt({ min: 1n, max: 2n ** 53n - 1n }).map(Number),
      size_half: fc.bigInt({ min: 1n, max: 2n ** 53n - 1n }).map(Number),
      age_horizon_secs: fc.oneof(fc.integer({ min: 1, max: 4_000_000 }), fc.constant(4_000_000)),
      tiers: fc.nat({ max: 1_000_000 }).map((n) => ({ T: n })),
    })
    const job = fc.record({
      fee: fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.constant(2n ** 64n - 1n)),
      sizeBytes: fc.nat(),
      readyTs: fc.nat({ max: 4e12 }),
    })
    fc.assert(
      fc.property(written, job, fc.nat({ max: 1e10 }), (given, part, waitedMs) => {
        // Written without rounding: 0.1 + 0.2 style sums of three decimals are still exact texts.
        const round = (n: number) => Number(n.toFixed(3))
        const { fee, age, size, tier } = given.weights
        const rounded = { fee: round(fee), age: round(age), size: round(size), tier: round(tier) }
        const policy = parsePolicy({ priority: { ...given, weights: rounded } }, 'fund').priority
        const now = part.readyTs + waitedMs
        const horizon = BigInt(given.age_horizon_secs)
        const waited = BigInt(Math.floor(now / 1_000) - Math.floor(part.readyTs / 1_000))
        const w = (n: number) => BigInt(Math.round(n * 1_000))
        const feeHalf = BigInt(given.fee_half)
        const sizeHalf = BigInt(given.size_half)
        const fixed =
          w(fee) * ((R * part.fee) / (part.fee + feeHalf)) +
          w(size) * ((R * sizeHalf) / (BigInt(part.sizeBytes) + sizeHalf)) +
          w(tier) * BigInt(given.tiers.T)
        const score = fixed * horizon + w(age) * R * (waited < horizon ? waited : horizon)

        const scored = { ...part, tier: 'T' }
        const one = { staticScore: staticScore(scored, policy), readyTs: part.readyTs }
        expect(BigInt(one.staticScore)).toBe(fixed)
        const got = scoreAt(one, now, policy)
        expect(Number.isSafeInteger(got)).toBe(true)
        expect(BigInt(got)).toBe(score)
        expect(shownScore(got, policy)).toBe(Number(score) / Number(1_000n * R * horizon))
      }),
      { numRuns: 1_000 },
    )
  })

  it('ORDER-6: as shown, the highest score is 1 and the lowest 0', () => {
    const weights = { fee: 0, age: 0.5, size: 0.25, tier: 0.25 }
    const { priority } = parsePolicy({ priority: { weights, tiers: { TOP: 1_000_000 } } }, 'fund')
    const top = staticScore({ fee: 0n, sizeBytes: 0, tier: 'TOP' }, priority)
    const score = scoreAt({ staticScore: top, readyTs: 0 }, 3_600_000, priority)
    expect(shownScore(score, priority)).toBe(1)
    expect(shownScore(scoreAt({ staticScore: 0, readyTs: 0 }, 999, priority), priority)).toBe(0)
  })
})
