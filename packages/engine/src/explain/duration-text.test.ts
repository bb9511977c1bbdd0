import { expect, it } from 'vitest'
import { durationText } from './duration-text.ts'

it.each([
  [-1, '0 s'],
  [0, '0 s'],
  [1, '1 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [12_000, '12 s'],
  [5_950, '5.9 s'],
  [59_999, '59.9 s'],
  [60_000, '1 min'],
  [125_000, '2 min 5 s'],
  [3_599_999, '59 min 59 s'],
  [3_600_000, '1 h'],
  [12_000_000, '3 h 20 min'],
  [86_399_999, '23 h 59 min'],
  [86_400_000, '1 d'],
  [90_000_000, '1 d 1 h'],
  [86_460_000, '1 d'],
])('EXPLAIN-6: %i ms is %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})
