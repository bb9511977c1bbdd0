import { describe, expect, it } from 'vitest'
import { ClockOffsets } from './clock-offset.ts'
import { retryAfterMs } from './retry-after.ts'

const T = Date.parse('2026-01-01T00:00:00.000Z')
const dated = (ms: number) => ({ date: new Date(ms).toUTCString() })

describe('the clock of a platform', () => {
  it('EXECUTE-6: each answer bounds the offset, several bound it closer', () => {
    const offsets = new ClockOffsets()
    expect(offsets.of('a')).toBeNull()
    // Its clock shows the second 0 while ours is between 100 and 140 ms: −140 … 900.
    offsets.note('a', { headers: dated(T), sentAt: T + 100, answeredAt: T + 140 })
    expect(offsets.of('a')).toEqual({ offsetMs: 380, uncertaintyMs: 520, samples: 1 })
    // Still 0 at 950: at most 50 ahead.
    offsets.note('a', { headers: dated(T), sentAt: T + 950, answeredAt: T + 990 })
    expect(offsets.of('a')).toEqual({ offsetMs: -45, uncertaintyMs: 95, samples: 2 })
  })

  it('EXECUTE-6: bounds that leave nothing start anew', () => {
    const offsets = new ClockOffsets()
    offsets.note('a', { headers: dated(T), sentAt: T, answeredAt: T + 10 })
    offsets.note('a', { headers: dated(T + 60_000), sentAt: T, answeredAt: T + 10 })
    expect(offsets.all()).toEqual({ a: { offsetMs: 60_495, uncertaintyMs: 505, samples: 1 } })
  })

  it('EXECUTE-6: an answer without a date, or with a wrong one, says nothing', () => {
    const offsets = new ClockOffsets()
    for (const headers of [{}, { date: 'soon' }]) {
      offsets.note('a', { headers, sentAt: T, answeredAt: T })
    }
    expect(offsets.all()).toEqual({})
  })
})

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['7', 7_000],
    ['0.5', 500],
    ['99999999', 86_400_000],
    ['-1', undefined],
    ['soon', undefined],
    [new Date(T + 9_000).toUTCString(), 9_000],
    [new Date(T - 9_000).toUTCString(), 0],
  ])('EXECUTE-5: %s', (written, expected) => {
    expect(retryAfterMs({ 'retry-after': written }, T)).toBe(expected)
  })

  it('EXECUTE-5: a date counts from the date of the same answer', () => {
    const headers = { 'retry-after': new Date(T + 9_000).toUTCString(), ...dated(T + 4_000) }
    expect(retryAfterMs(headers, T + 100_000)).toBe(5_000)
    expect(retryAfterMs({}, T)).toBeUndefined()
  })
})
