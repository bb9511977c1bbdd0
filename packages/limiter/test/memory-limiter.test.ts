import { expect, it } from 'vitest'
import { limiterConformance, START } from '../src/conformance/limiter-conformance.ts'
import { createLimiter, memory } from '../src/index.ts'
import { leasesMaxRules, openSmallMemory } from './leases-max.ts'

leasesMaxRules('memory', openSmallMemory)

limiterConformance('memory', {
  open: async (limits) => {
    let now = START
    const limiter = createLimiter({ backend: memory({ clock: { now: () => now } }), limits })
    const advance = (ms: number): void => {
      now += ms
    }
    return { limiter, advance, close: () => limiter.close() }
  },
})

it('LIMIT-1: a malformed limit is refused at once, by the name of the field', () => {
  const limits = [{ key: 'k', kind: 'fixed', capacity: 0, windowSecs: 1 } as const]
  expect(() => createLimiter({ limits })).toThrow(/^capacity: expected a whole number from 1/)
})

it('LIMIT-12: actuals that are added up to more than 2^53 are exact', async () => {
  const most = Number.MAX_SAFE_INTEGER
  const limiter = createLimiter({
    limits: [{ key: 'k', kind: 'fixed', capacity: most, windowSecs: 86_400 }],
  })
  await limiter.reserve({ leaseId: 'a', requirements: [{ key: 'k', amount: 2 ** 52 }] })
  const actuals = [most, most, 3].map((amount) => ({ key: 'k', amount }))
  await limiter.complete({ leaseId: 'a', actuals })
  expect((await limiter.get('k'))?.held).toBe(2n * BigInt(most) + 3n)
})

it.each([
  [undefined, /^options: /],
  [{}, /^limits: expected a list/],
  [{ limits: [], backend: 'redis://localhost' }, /^backend: expected memory/],
  [{ limits: [], limit: [] }, /^limit: expected no such field/],
])('options are checked, by the name of the field: %j', (options, message) => {
  expect(() => createLimiter(options as never)).toThrow(message)
})

it.each([
  [{ rememberMs: -1 }, /^rememberMs: /],
  [{ leasesMax: Number.NaN }, /^leasesMax: /],
])('options of memory() are checked: %j', (options, message) => {
  expect(() => createLimiter({ backend: memory(options), limits: [] })).toThrow(message)
})
