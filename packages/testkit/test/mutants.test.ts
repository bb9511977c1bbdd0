import { describe, expect, it } from 'vitest'
import { occurrences, simulateMutant } from './mutant-lab.ts'
import { MUTANTS } from './mutants.ts'

/** Within so many steps a mutant must be found; nearly all are within two thousand. */
const STEPS_MAX = 20_000
const MINUTE = 60_000

/**
 * A simulator that never fails proves nothing by itself. Here the product is broken in one line, and the
 * simulator must say so, and say what. The unbroken product passes the same scenarios in `simulator.test.ts`.
 */
describe('a product that is broken on purpose', () => {
  it.each(MUTANTS)('is where the mutant expects it: $name', (mutant) => {
    expect(occurrences(mutant)).toBe(1)
  })

  it.concurrent.each(MUTANTS)(
    'is found out: $name',
    async (mutant) => {
      const { failure } = await simulateMutant(mutant, STEPS_MAX)
      expect(failure, `the mutant survived ${STEPS_MAX} steps; give it another seed`).not.toBeNull()
      expect(mutant.expected).toContain(failure?.invariant)
    },
    // The time only ends what hangs.
    10 * MINUTE,
  )
})
