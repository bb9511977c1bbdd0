import { fc, test } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { jobNamed } from '../../test/any-market.ts'
import { type JobId, retryHash } from '../encoding/ids.ts'
import type { KindName } from '../enqueue/kinds.ts'
import { type Policy, parsePolicy } from '../policy/policy.ts'
import { backoffSecs } from './backoff.ts'

const FUND = parsePolicy({}, 'fund')
const JOB = '0x306715e5b13ff3e66b3956af9831cd7107a95ceb1e05171149259941fd48b5a5' as JobId
const anyJobId = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(idOf)
const anyKind = fc.constantFrom<KindName>('ai', 'quantum', 'task')

describe('the delay after a charge', () => {
  it.each([
    { n: 0, secs: 5 },
    { n: 1, secs: 9 },
    { n: 2, secs: 22 },
  ])('RETRY-1: the ai job of the example waits $secs s after charge $n', ({ n, secs }) => {
    expect(backoffSecs('ai', JOB, n, FUND)).toBe(secs)
  })

  test.prop([anyKind, anyJobId, fc.nat(1_000)])(
    'RETRY-1: it is min(cap, b0·2^n) with the jitter of the retry hash, rounded half up',
    (kind, jobId, n) => {
      const delay = Math.min(900, (kind === 'quantum' ? 2 : 5) * 2 ** n)
      expect(backoffSecs(kind, jobId, n, FUND)).toBe(jittered(delay, jobId, n))
    },
  )

  test.prop([anyKind, anyJobId, fc.nat(40), fc.integer({ min: 1, max: 10_000 })])(
    'RETRY-1: it stays within a tenth of the delay, whatever the cap',
    (kind, jobId, n, cap) => {
      const delay = Math.min(cap, (kind === 'quantum' ? 2 : 5) * 2 ** n)
      const secs = backoffSecs(kind, jobId, n, withRetries({ backoff_cap_secs: cap }))
      expect(secs).toBeGreaterThanOrEqual(Math.floor(0.9 * delay + 0.5))
      expect(secs).toBeLessThanOrEqual(Math.floor(1.1 * delay + 0.5))
      expect(Number.isInteger(secs)).toBe(true)
    },
  )

  test.prop([anyKind, anyJobId, fc.nat(60), fc.integer({ min: 1_000, max: 10_000 })])(
    'RETRY-1: another factor takes the place of 2, exactly',
    (kind, jobId, n, factor) => {
      const policy = withRetries({ backoff_factor: factor / 1_000, backoff_cap_secs: 100_000 })
      const grown = BigInt(kind === 'quantum' ? 2 : 5) * BigInt(factor) ** BigInt(n)
      const delay = grown / 1_000n ** BigInt(n)
      const cut = delay < 100_000n ? Number(delay) : 100_000
      expect(backoffSecs(kind, jobId, n, policy)).toBe(jittered(cut, jobId, n))
    },
  )

  it('RETRY-1: a factor of 1 waits equally long each time, one of 2 is the default', () => {
    const flat = withRetries({ backoff_factor: 1, base_backoff_ai_secs: 100 })
    for (const n of [0, 1, 9, 500]) {
      expect(backoffSecs('ai', JOB, n, flat)).toBe(jittered(100, JOB, n))
    }
    const two = withRetries({ backoff_factor: 2 })
    for (const n of [0, 1, 7, 60]) {
      expect(backoffSecs('ai', JOB, n, two)).toBe(backoffSecs('ai', JOB, n, FUND))
    }
  })

  it('RETRY-1: the cap cuts the doubling, not the jitter', () => {
    const spread = Array.from({ length: 200 }, (_, i) => backoffSecs('ai', jobNamed(i), 8, FUND))
    expect(Math.min(...spread)).toBeGreaterThanOrEqual(810)
    expect(Math.max(...spread)).toBeLessThanOrEqual(990)
    expect(Math.min(...spread)).toBeLessThan(850)
    expect(Math.max(...spread)).toBeGreaterThan(950)
  })

  it('RETRY-1: 5·2^7 is below the cap of 900 and 5·2^8 above it', () => {
    expect(backoffSecs('ai', JOB, 7, FUND)).toBe(jittered(640, JOB, 7))
    expect(backoffSecs('ai', JOB, 8, FUND)).toBe(jittered(900, JOB, 8))
  })

  it.each([0, 52, 53, 63, 2_000])('RETRY-1: a base of 0 stays 0 after charge %i', (n) => {
    const { queue } = FUND
    const retries = { ...queue.retries, baseBackoffAiSecs: 0 }
    expect(backoffSecs('ai', JOB, n, { ...FUND, queue: { ...queue, retries } })).toBe(0)
  })

  it('RETRY-1: the base is policy, kind by kind', () => {
    const policy = withRetries({
      base_backoff_ai_secs: 100,
      base_backoff_quantum_secs: 200,
      base_backoff_task_secs: 300,
    })
    const secs = (['ai', 'quantum', 'task'] as const).map((kind) =>
      backoffSecs(kind, JOB, 0, policy),
    )
    expect(secs).toEqual([100, 200, 300].map((delay) => jittered(delay, JOB, 0)))
  })

  it('RETRY-1: equal jobs wait equally long, others spread out', () => {
    expect(backoffSecs('ai', JOB, 5, FUND)).toBe(backoffSecs('ai', JOB, 5, FUND))
    const delays = Array.from({ length: 50 }, (_, i) => backoffSecs('ai', jobNamed(i), 5, FUND))
    expect(new Set(delays).size).toBeGreaterThan(10)
  })
})

/** `delay·(1 + (2x − 1)·0.1)` and a half, rounded down, as a fraction over 10·2^53. */
function jittered(delay: number, jobId: JobId, n: number): number {
  const bytes = retryHash(jobId, n)
  const u = bytes.slice(0, 8).reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
  const one = 2n ** 53n
  const x = u / 2n ** 11n // of `one`
  const tenths = BigInt(delay) * (10n * one + (2n * x - one))
  return Number((tenths + 5n * one) / (10n * one))
}

function withRetries(retries: object): Policy {
  return parsePolicy({ queue: { retries } }, 'fund')
}

function idOf(bytes: Uint8Array): JobId {
  return `0x${Buffer.from(bytes).toString('hex')}` as JobId
}
