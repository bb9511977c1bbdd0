import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isoUtc } from './iso-utc.ts'

const DAY_MS = 86_400_000
const YEAR_10000 = Date.UTC(10_000, 0, 1)

/** Every time of the list that is written otherwise than `Date` writes it. */
const differing = (times: Iterable<number>): number[] =>
  [...times].filter((ms) => isoUtc(ms) !== new Date(ms).toISOString())

describe('a time as ISO 8601', () => {
  it('SESSION-3: a time is written in UTC with milliseconds and Z', () => {
    expect(isoUtc(0)).toBe('1970-01-01T00:00:00.000Z')
    expect(isoUtc(1)).toBe('1970-01-01T00:00:00.001Z')
    expect(isoUtc(1_760_000_400_000)).toBe('2025-10-09T09:00:00.000Z')
    expect(isoUtc(951_782_399_999)).toBe('2000-02-28T23:59:59.999Z')
    expect(isoUtc(951_782_400_000)).toBe('2000-02-29T00:00:00.000Z')
    expect(isoUtc(YEAR_10000 - 1)).toBe('9999-12-31T23:59:59.999Z')
  })

  it('SESSION-3: it is what Date writes, at any time from 1970 to 9999', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: YEAR_10000 - 1 }), (ms) => {
        expect(isoUtc(ms)).toBe(new Date(ms).toISOString())
      }),
      { numRuns: 3_000 },
    )
  })

  it('SESSION-3: it is what Date writes, on the first and last millisecond of every day to 2120', () => {
    const edges = function* (): Generator<number> {
      for (let day = 0; day < 55_000; day++) {
        yield day * DAY_MS
        yield day * DAY_MS + DAY_MS - 1
      }
    }
    expect(differing(edges())).toEqual([])
  })

  it('SESSION-3: it is what Date writes around every February and new year to 9999', () => {
    const edges = function* (): Generator<number> {
      for (let year = 1970; year < 10_000; year++) {
        for (const start of [Date.UTC(year, 1, 28), Date.UTC(year, 2, 1), Date.UTC(year, 11, 31)]) {
          yield start
          yield start + DAY_MS - 1
          yield start - 1 < 0 ? 0 : start - 1
        }
      }
    }
    expect(differing(edges())).toEqual([])
  })

  it('SESSION-3: it is what Date writes before 1970 too', () => {
    fc.assert(
      fc.property(fc.integer({ min: Date.UTC(1, 0, 1), max: -1 }), (ms) => {
        expect(isoUtc(ms)).toBe(new Date(ms).toISOString())
      }),
    )
  })

  it('SESSION-3: a year after 9999 has the sign and six digits that ISO 8601 asks for', () => {
    expect(isoUtc(YEAR_10000)).toBe('+010000-01-01T00:00:00.000Z')
    fc.assert(
      fc.property(fc.integer({ min: YEAR_10000, max: 8_640_000_000_000_000 }), (ms) => {
        expect(isoUtc(ms)).toBe(new Date(ms).toISOString())
      }),
    )
  })
})
