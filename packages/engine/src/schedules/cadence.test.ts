import { describe, expect, it } from 'vitest'
import { Cadence, nextTimes } from './cadence.ts'

const at = (text: string): number => Date.parse(text)

function timesAfter(cron: string, timezone: string, from: string, count = 3): string[] {
  const times = nextTimes(cron, timezone, { fromMs: at(from), count })
  return times.map((time) => new Date(time).toISOString().slice(0, 16))
}

describe('the times of an expression', () => {
  it.each([
    [
      '30 2 * * *',
      '2026-03-27T12:00Z',
      ['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30'],
    ],
    [
      '0 * * * *',
      '2026-03-29T00:30Z',
      ['2026-03-29T01:00', '2026-03-29T02:00', '2026-03-29T03:00'],
    ],
    [
      '*/30 2 * * *',
      '2026-03-28T12:00Z',
      ['2026-03-30T00:00', '2026-03-30T00:30', '2026-03-31T00:00'],
    ],
  ])('SCHEDULE-3: %s when the clocks in Berlin go forward', (cron, from, times) => {
    expect(timesAfter(cron, 'Europe/Berlin', from)).toEqual(times)
  })

  it.each([
    [
      '30 2 * * *',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:30', '2026-10-26T01:30', '2026-10-27T01:30'],
    ],
    [
      '0 * * * *',
      '2026-10-24T23:30Z',
      ['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00'],
    ],
    [
      '*/30 2 * * *',
      '2026-10-25T00:00Z',
      ['2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30'],
    ],
  ])('SCHEDULE-3: %s when the clocks in Berlin go back', (cron, from, times) => {
    expect(timesAfter(cron, 'Europe/Berlin', from)).toEqual(times)
  })

  it('SCHEDULE-3: one at the change of the clocks is looked for from both sides alike', () => {
    for (const day of ['2026-03-29', '2026-10-25']) {
      for (const cron of ['30 2 * * *', '*/20 1-3 * * *', '15 * * * *']) {
        const cadence = new Cadence(cron, 'Europe/Berlin')
        const from = at(`${day}T00:00Z`) - 86_400_000
        const ahead: number[] = []
        for (let next = cadence.after(from); next !== null && next <= from + 2 * 86_400_000; ) {
          ahead.push(next)
          next = cadence.after(next)
        }
        const back = cadence.upTo(from + 2 * 86_400_000, ahead.length)
        expect(back, `${cron} ${day}`).toEqual(ahead)
      }
    }
  })

  it('SCHEDULE-3: has seconds where there are six fields, and times up to one are not after it', () => {
    const cadence = new Cadence('*/10 * * * * *', 'UTC')
    const noon = at('2026-05-01T12:00:00Z')
    expect(cadence.after(noon)).toBe(noon + 10_000)
    expect(cadence.after(noon - 1)).toBe(noon)
    expect(cadence.upTo(noon, 2)).toEqual([noon - 10_000, noon])
    expect(cadence.upTo(noon + 9_999, 1)).toEqual([noon])
    expect(cadence.upTo(noon - 1, 1)).toEqual([noon - 10_000])
  })

  it('SCHEDULE-3: is null where none comes within five years', () => {
    expect(new Cadence('0 0 30 2 *', 'UTC').after(at('2026-01-01'))).toBeNull()
    expect(new Cadence('0 0 29 2 *', 'UTC').after(at('2024-03-01'))).toBe(at('2028-02-29'))
    // 2100 is no leap year.
    expect(new Cadence('0 0 29 2 *', 'UTC').after(at('2096-03-01'))).toBeNull()
  })

  it.each([
    ['* * * *', 'UTC', /cron: expected five or six fields, .* got \* \* \* \* \(it has 4\)$/],
    ['', 'UTC', /got {2}\(it has 0\)$/],
    ['61 * * * *', 'UTC', /cron: .*minute: 61/],
    ['0 0 * * * * 2030', 'UTC', /cron: expected five or six fields, .* \(it has 7\)$/],
    ['? * * * *', 'UTC', /cron: expected five or six fields/],
    [`${'1,'.repeat(200)}1 * * * *`, 'UTC', /cron: expected five or six fields/],
    ['0 0 * * *', 'Mars/Base', /timezone: expected the name of a time zone, .* got Mars\/Base/],
    ['0 0 * * *', '', /timezone: expected/],
  ])('SCHEDULE-3: refuses %s in %s', (cron, timezone, message) => {
    expect(() => new Cadence(cron, timezone)).toThrow(message)
  })
})
