import { expect, it } from 'vitest'
import { restAfter } from './rest.ts'

it('VIEW-3: a question that is answered soon is asked as often as its screen wants', () => {
  expect([restAfter(0, 700), restAfter(77, 700)]).toEqual([700, 700])
})

it('VIEW-3: a question that takes long takes a tenth of the time', () => {
  const tookMs = 250
  const restMs = restAfter(tookMs, 700)
  expect(tookMs / (tookMs + restMs)).toBe(0.1)
})
