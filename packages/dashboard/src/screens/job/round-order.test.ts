import { SeededShuffle } from '@fairlead/core/internal'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hexOf } from '../../text/bytes.ts'
import { shuffledBySeed } from './round-order.ts'

it('MATCH-5: the page computes the order of a round as the engine does', () => {
  const ids = fc.uniqueArray(fc.stringMatching(/^provider:[a-z0-9]{1,6}$/), { maxLength: 40 })
  const seeds = fc.uint8Array({ minLength: 32, maxLength: 32 })
  fc.assert(
    fc.property(ids, seeds, (providers, bytes) => {
      const seed = hexOf(bytes)
      const sorted = [...providers].sort()
      expect(shuffledBySeed(providers, seed)).toEqual(
        new SeededShuffle(sorted, seed as never).all(),
      )
    }),
  )
})

it('MATCH-5: the example of the rule', () => {
  expect(shuffledBySeed(['d', 'c', 'b', 'a'], `0x${'00'.repeat(32)}`)).toEqual(['d', 'b', 'a', 'c'])
})
