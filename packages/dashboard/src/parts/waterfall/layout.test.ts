import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isToScale, placesOf, type Stretch } from './layout.ts'

const NOW = 1_000

/** Stretches one behind the other, as the life of a job is. */
const chain = fc
  .array(fc.integer({ min: 0, max: 100_000 }), { minLength: 1, maxLength: 12 })
  .map((lengths) => {
    let at = 0
    return lengths.map((length): Stretch => {
      const from = at
      at += length
      return { from, to: at }
    })
  })

describe('where stretches of time are drawn', () => {
  it('to scale where none of them takes most of the time', () => {
    const spans = [
      { from: 0, to: 400 },
      { from: 400, to: 600 },
      { from: 600, to: null },
    ]
    expect(placesOf(spans, NOW)).toEqual([
      { left: 0, width: 0.4 },
      { left: 0.4, width: expect.closeTo(0.2) },
      { left: expect.closeTo(0.6), width: expect.closeTo(0.4) },
    ])
    expect(isToScale(spans, NOW)).toBe(true)
  })

  it('the longest is drawn as long as all others together, and that is told', () => {
    const spans = [
      { from: 0, to: 1_000_000 },
      { from: 1_000_000, to: 1_000_010 },
      { from: 1_000_010, to: 1_000_030 },
    ]
    expect(placesOf(spans, NOW).map(({ width }) => width)).toEqual([
      expect.closeTo(0.5),
      expect.closeTo(1 / 6),
      expect.closeTo(1 / 3),
    ])
    expect(isToScale(spans, NOW)).toBe(false)
  })

  it('one that has no length, and none at all', () => {
    expect(placesOf([{ from: 5, to: 5 }], NOW)).toEqual([{ left: 0, width: 0 }])
    expect(placesOf([], NOW)).toEqual([])
  })

  it('they lie inside of the whole, touch where they did, and keep their order', () => {
    fc.assert(
      fc.property(chain, (spans) => {
        const places = placesOf(spans, 0)
        let end = 0
        for (const { left, width } of places) {
          expect(left).toBeCloseTo(end, 9)
          expect(width).toBeGreaterThanOrEqual(0)
          end = left + width
        }
        const last = spans.at(-1)
        expect(end).toBeCloseTo(last?.to === 0 ? 0 : 1, 9)
      }),
    )
  })
})
