import { expect, it } from 'vitest'
import { attemptEnd } from './attempt-end.ts'

it.each([
  ['provider_fail', 'failed'],
  ['cancelled', 'ended early'],
  ['worker_lost', 'worker lost'],
  ['http_503', 'http 503'],
])('an attempt that ended by %s is "%s"', (reason, text) => {
  expect(attemptEnd(reason)).toBe(text)
})
