import { durationText as ofEngine } from '@fairlead/engine'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { durationMs, durationText } from './duration.ts'

it('a duration is told in the words of explain', () => {
  fc.assert(
    fc.property(fc.integer({ min: -10, max: 40 * 86_400_000 }), (ms) => {
      expect(durationText(ms)).toBe(ofEngine(ms))
    }),
  )
})

it.each([
  ['90s', 90_000],
  ['15m', 900_000],
  ['15min', 900_000],
  ['1h', 3_600_000],
  ['1.5h', 5_400_000],
  ['2d', 172_800_000],
  ['1w', 604_800_000],
  ['250ms', 250],
  ['h', null],
  ['1', null],
  ['-1h', null],
  ['1y', null],
  ['', null],
])('the age %s is %s ms', (text, ms) => {
  expect(durationMs(text)).toBe(ms)
})
