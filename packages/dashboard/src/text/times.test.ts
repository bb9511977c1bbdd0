import { expect, it } from 'vitest'
import { clockText, isZone, timeText } from './times.ts'

const AT = Date.parse('2026-03-29T01:30:05.250Z')

it('a moment is told in the zone that is asked for, summer time included', () => {
  expect(timeText(AT, 'UTC')).toBe('2026-03-29 01:30:05')
  expect(timeText(AT, 'Europe/Berlin')).toBe('2026-03-29 03:30:05')
  expect(timeText(AT - 3_600_000, 'Europe/Berlin')).toBe('2026-03-29 01:30:05')
  expect(timeText(Date.parse('2026-01-01T00:00:00Z'), 'UTC')).toBe('2026-01-01 00:00:00')
  expect(clockText(AT, 'Asia/Kolkata')).toBe('07:00:05.250')
})

it('a zone that is none is told', () => {
  expect([isZone('Europe/Berlin'), isZone('UTC'), isZone('Mars/Olympus')]).toEqual([
    true,
    true,
    false,
  ])
})
