import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TransitMap } from './transit-map.ts'

describe('TransitMap', () => {
  it('is a map, however much comes and goes', () => {
    // Enough of them that the entries move several times.
    const step = fc.record({ key: fc.integer({ min: 0, max: 40 }), stays: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { minLength: 4_000, maxLength: 4_000 }), (steps) => {
        const map = new TransitMap<number, number>()
        const plain = new Map<number, number>()
        for (const [i, { key, stays }] of steps.entries()) {
          expect(map.has(key)).toBe(plain.has(key))
          expect(map.get(key)).toBe(plain.get(key))
          if (stays) {
            map.set(key, i)
            plain.set(key, i)
          } else expect(map.delete(key)).toBe(plain.delete(key))
          expect(map.size).toBe(plain.size)
        }
        expect([...map]).toEqual([...plain])
        expect([...map.keys()]).toEqual([...plain.keys()])
        expect([...map.values()]).toEqual([...plain.values()])
      }),
      { numRuns: 5 },
    )
  })

  it('keeps all of many', () => {
    const map = new TransitMap<number, string>()
    for (let i = 0; i < 25_000; i++) map.set(i, String(i))
    expect(map.size).toBe(25_000)
    expect(map.get(0)).toBe('0')
    expect(map.get(24_999)).toBe('24999')
    map.clear()
    expect([...map]).toEqual([])
  })

  it('goes on through those that were there, though others come and the entries move', () => {
    const map = new TransitMap<number, number>()
    for (let i = 0; i < 10; i++) map.set(i, i)
    const seen: number[] = []
    for (const value of map.values()) {
      seen.push(value)
      for (let i = 0; i < 2_000; i++) {
        map.set(-1, i)
        map.delete(-1)
      }
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
})
