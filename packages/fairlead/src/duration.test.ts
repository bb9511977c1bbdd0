import { expect, it } from 'vitest'
import { durationMs } from './duration.ts'

it.each([
  ['500ms', 500],
  ['90s', 90_000],
  ['10m', 600_000],
  ['1h30m', 5_400_000],
  ['7d', 604_800_000],
  ['1d2h3m4s5ms', 93_784_005],
  ['0s', 0],
])('QUEUE-3: %s is %i ms', (text, ms) => {
  expect(durationMs(text)).toBe(ms)
})

it.each(['', '10', 'm', '1.5h', '30m1h', '1h1h', '-1s', '1 h', '10M', '1234567890s'])(
  'QUEUE-3: "%s" is no duration',
  (text) => {
    expect(durationMs(text)).toBeNull()
  },
)
