import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anySeed, seedNamed } from '../../test/any-market.ts'
import { plainDice, plainShuffle, plainWords } from '../../test/plain-round.ts'
import type { Seed } from '../encoding/ids.ts'
import { SeededDice, SeededShuffle } from './seeded-shuffle.ts'

const WORDS = 2 ** 32

describe('dice', () => {
  it('MATCH-5: draws are those of the words in turn, skipping what is beyond the last multiple', () => {
    const sides = fc.oneof(
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 1, max: WORDS }),
      // About half, a quarter and almost none of the words are skipped.
      fc.constantFrom(2 ** 31 + 1, 3 * 2 ** 30, WORDS - 1, WORDS, 2 ** 31),
    )
    fc.assert(
      fc.property(anySeed(), fc.array(sides, { maxLength: 60, size: 'max' }), (seed, draws) => {
        const dice = new SeededDice(seed)
        expect(draws.map((m) => dice.draw(m))).toEqual(draws.map(plainDice(seed)))
      }),
      { numRuns: 300 },
    )
  })

  it('MATCH-5: a word from floor(2^32/m)·m on is skipped, one below is not', () => {
    // A seed whose first word is above 2^31, so that it can be the last one taken or the first one
    // skipped, and whose second is lower.
    const seed = Array.from({ length: 99 }, (_, n) => seedNamed(n)).find((candidate) => {
      const [one = 0, two = 0] = firstWords(candidate, 2)
      return one > 2 ** 31 && two < one
    }) as Seed
    const [first = 0, second = 0] = firstWords(seed, 2)
    expect(new SeededDice(seed).draw(first + 1)).toBe(first)
    expect(new SeededDice(seed).draw(first)).toBe(second)
  })

  it('MATCH-5: draws are uniform, also where a plain remainder would favour the low third', () => {
    // Over m = 3·2^30 the remainder of a word is below 2^30 twice as often as in each other third.
    const thirds = [0, 0, 0]
    const dice = new SeededDice(seedNamed(7))
    const draws = 9_000
    for (let n = 0; n < draws; n++) {
      const third = Math.floor(dice.draw(3 * 2 ** 30) / 2 ** 30)
      thirds[third] = (thirds[third] ?? 0) + 1
    }
    // Five standard deviations of a binomial (n = 9000, p = 1/3) are 224.
    for (const count of thirds) expect(Math.abs(count - draws / 3)).toBeLessThan(224)
  })

  it('MATCH-5: a seed that is not of 32 bytes is refused', () => {
    expect(() => new SeededDice('0x00' as Seed)).toThrow('32 bytes')
  })
})

describe('shuffle', () => {
  const items = fc.integer({ min: 0, max: 40 }).map((n) => Array.from({ length: n }, (_, i) => i))

  it('MATCH-5: evaluated place by place it is the whole Fisher–Yates shuffle', () => {
    fc.assert(
      fc.property(anySeed(), items, fc.array(fc.nat({ max: 39 })), (seed, sorted, looks) => {
        const want = plainShuffle(sorted, seed)
        const shuffle = new SeededShuffle(sorted, seed)
        expect(shuffle.length).toBe(sorted.length)
        for (const place of looks) {
          if (place < sorted.length) expect(shuffle.at(place)).toBe(want[place])
        }
        expect(shuffle.all()).toEqual(want)
        expect(want.toSorted((a, b) => a - b)).toEqual(sorted)
      }),
      { numRuns: 500 },
    )
  })

  it('MATCH-5: there is no place behind the last', () => {
    const shuffle = new SeededShuffle(['a', 'b'], seedNamed(1))
    expect(() => shuffle.at(2)).toThrow()
    expect(() => new SeededShuffle([], seedNamed(1)).at(0)).toThrow()
    expect(new SeededShuffle([], seedNamed(1)).all()).toEqual([])
  })

  it('MATCH-5: every one of three comes first about as often', () => {
    const firsts = { a: 0, b: 0, c: 0 }
    for (let n = 0; n < 3_000; n++) {
      const shuffle = new SeededShuffle(['a', 'b', 'c'] as const, seedNamed(n))
      firsts[shuffle.at(0)]++
    }
    // Five standard deviations of a binomial (n = 3000, p = 1/3) are 129.
    for (const count of Object.values(firsts)) expect(Math.abs(count - 1_000)).toBeLessThan(129)
  })

  it('MATCH-6: only as many places are evaluated as are looked at', () => {
    const read = new Set<string>()
    const list = new Proxy(
      Array.from({ length: 10_000 }, (_, i) => i),
      {
        get: (target, key, receiver) => {
          if (typeof key === 'string' && /^\d+$/.test(key)) read.add(key)
          return Reflect.get(target, key, receiver)
        },
      },
    )
    const shuffle = new SeededShuffle(list, seedNamed(3))
    shuffle.at(4)
    // Each step looks at its own place and at the one that it changes with.
    expect(read.size).toBeLessThanOrEqual(10)
    expect(read.size).toBeGreaterThan(0)
  })
})

function firstWords(seed: Seed, count: number): number[] {
  const words = plainWords(seed)
  return Array.from({ length: count }, () => words.next().value)
}
