import { describe, expect, it } from 'vitest'
import { simulateOpening } from './opening.ts'

describe('an opening among crashes, lost answers and 429s', () => {
  it.each(Array.from({ length: 15 }, (_, i) => i + 1))(
    'DISPATCH-8: order, budgets, one attempt at a time and one booking hold (seed %i)',
    async (seed) => {
      expect(await simulateOpening(seed)).toEqual([])
    },
    60_000,
  )

  it('ATTEMPT-5: a platform that forgets its idempotency keys is found out', async () => {
    const problems = await simulateOpening(1, { forgetsKeys: true })
    expect(problems.join()).toMatch(/was booked 2 times/)
  }, 60_000)

  it('BUDGET-2: an engine that sends more than the platform counts is found out', async () => {
    const problems = await simulateOpening(1, { sendsTooFast: true })
    expect(problems.join()).toMatch(/sends in/)
  }, 60_000)
})
