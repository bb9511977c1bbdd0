import { fc, test } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { START, type TrialLimiter } from '../src/conformance/limiter-conformance.ts'
import { createLimiter, type Limit, memory } from '../src/index.ts'

/** A limiter that remembers no more ids than that. */
export type OpenSmall = (limits: readonly Limit[], leasesMax: number) => TrialLimiter

export const openSmallMemory: OpenSmall = (limits, leasesMax) => {
  let now = START
  const backend = memory({ leasesMax, clock: { now: () => now } })
  const limiter = createLimiter({ backend, limits })
  const advance = (ms: number): void => {
    now += ms
  }
  return { limiter, advance, close: () => limiter.close() }
}

/** What is held for a second, and for long, and what is mostly denied. */
const LIMITS: readonly Limit[] = [
  { key: 'short', kind: 'rolling', capacity: 1_000, windowSecs: 1 },
  { key: 'long', kind: 'fixed', capacity: 1_000, windowSecs: 600 },
  { key: 'one', kind: 'concurrency', capacity: 1, timeoutSecs: 90 },
]

const act = fc.record({
  id: fc.constantFrom(...'abcdefghij'),
  key: fc.constantFrom('short', 'short', 'long', 'one'),
  completes: fc.constantFrom(false, false, true),
  passes: fc.constantFrom(0, 0, 0, 1, 1_016, 30_000, 59_999, 60_000, 61_016, 700_000),
})

const take = ({ limiter }: TrialLimiter, leaseId: string, key = 'long') =>
  limiter.reserve({ leaseId, requirements: [{ key, amount: 1 }] })

/** LIMIT-10 where there are too many ids, for a backend that can be told how many those are. */
export function leasesMaxRules(name: string, open: OpenSmall): void {
  describe(`${name}: the most lease ids`, () => {
    const held = async ({ limiter }: TrialLimiter) => (await limiter.get('long'))?.held

    it('LIMIT-10: above the maximum the oldest id is forgotten, and what it holds is held', async () => {
      const trial = open(LIMITS, 3)
      for (const id of ['a', 'b', 'c', 'd']) await take(trial, id)
      await take(trial, 'b')
      expect(await held(trial)).toBe(4)
      // Nothing is known of it any more: to complete it changes nothing, and it may be reserved anew.
      await trial.limiter.complete({ leaseId: 'a', actuals: [{ key: 'long', amount: 0 }] })
      expect(await held(trial)).toBe(4)
      await take(trial, 'a')
      expect(await held(trial)).toBe(5)
      await trial.close()
    })

    it('LIMIT-10: what is over goes before the oldest that is not', async () => {
      const trial = open(LIMITS, 3)
      await take(trial, 'a')
      await take(trial, 'b', 'short')
      await take(trial, 'c')
      trial.advance(61_016)
      await take(trial, 'd')
      for (const id of ['a', 'c', 'd']) await take(trial, id)
      expect(await held(trial)).toBe(3)
      // Completed when it was old already: over after a minute, not at the end of its window.
      await trial.limiter.complete({ leaseId: 'c' })
      trial.advance(60_000)
      await take(trial, 'e')
      for (const id of ['a', 'd', 'e']) await take(trial, id)
      expect(await held(trial)).toBe(4)
      await trial.close()
    })

    it('LIMIT-10: a batch is forgotten as calls one by one are', async () => {
      const trial = open(LIMITS, 300)
      const batch = (from: number, size: number) =>
        Array.from({ length: size }, (_, i) => ({
          leaseId: `${from + i}`,
          requirements: [{ key: 'long', amount: 1 }],
        }))
      await trial.limiter.reserveMany(batch(0, 200))
      await trial.limiter.reserveMany(batch(200, 200))
      await trial.limiter.reserveMany(batch(100, 200))
      expect(await held(trial)).toBe(400)
      await trial.limiter.reserveMany(batch(99, 1))
      expect(await held(trial)).toBe(401)
      trial.advance(700_000)
      await trial.limiter.reserveMany(batch(0, 250))
      await trial.limiter.reserveMany(batch(0, 250))
      expect(await held(trial)).toBe(250)
      await trial.close()
    })
  })
}

/** In memory ids are tested against a plain list of them; another backend against memory. */
export function forgetsAsMemory(open: OpenSmall): void {
  test.prop([fc.integer({ min: 1, max: 6 }), fc.array(act, { maxLength: 60, size: 'max' })], {
    numRuns: 50,
  })('LIMIT-10: ids are forgotten as in memory, whatever comes', async (leasesMax, acts) => {
    const [one, other] = [open(LIMITS, leasesMax), openSmallMemory(LIMITS, leasesMax)]
    for (const { id, key, completes, passes } of acts) {
      const [answer, expected] = await Promise.all(
        [one, other].map((trial) => {
          trial.advance(passes)
          return completes ? trial.limiter.complete({ leaseId: id }) : take(trial, id, key)
        }),
      )
      expect(answer).toEqual(expected)
    }
    expect(await one.limiter.list()).toEqual(await other.limiter.list())
    await Promise.all([one.close(), other.close()])
  })
}
