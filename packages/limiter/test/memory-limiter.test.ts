import { expect, it } from 'vitest'
import { limiterConformance, START } from '../src/conformance/limiter-conformance.ts'
import { createLimiter, memory } from '../src/index.ts'

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
