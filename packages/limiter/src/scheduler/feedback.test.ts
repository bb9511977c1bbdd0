import { describe, expect, it } from 'vitest'
import { readFeedback } from './feedback.ts'

const NOW = Date.parse('2026-01-01T10:00:00Z')
const wait = (headers: Record<string, string>) => readFeedback(headers, NOW).retryAfterMs

describe('SCHED-7: what providers say', () => {
  it.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'Retry-After': 'Thu, 01 Jan 2026 10:00:03 GMT' }, 3_000],
    [{ 'retry-after': 'Thu, 01 Jan 2026 09:00:00 GMT' }, 0],
    [{ 'retry-after-ms': '250', 'retry-after': '1' }, 250],
    [{ 'retry-after': 'soon' }, null],
    [{}, null],
  ])('retry-after in seconds, as a date, in milliseconds: %j', (headers, expected) => {
    expect(wait(headers as Record<string, string>)).toBe(expected)
  })

  it('OpenAI: limits, what remains, and resets as durations', () => {
    const headers = new Headers({
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-limit-tokens': '150000',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-remaining-tokens': '149984',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-reset-tokens': '6m0s',
    })
    expect(readFeedback({ headers }, NOW)).toEqual({
      retryAfterMs: null,
      requests: { limit: 60, remaining: 59, resetMs: 1_000 },
      tokens: { limit: 150_000, remaining: 149_984, resetMs: 360_000 },
    })
  })

  it('Anthropic: resets as dates', () => {
    const feedback = readFeedback(
      {
        'anthropic-ratelimit-requests-limit': '50',
        'anthropic-ratelimit-requests-remaining': '49',
        'anthropic-ratelimit-requests-reset': '2026-01-01T10:00:01Z',
        'anthropic-ratelimit-tokens-limit': '40000',
        'anthropic-ratelimit-tokens-remaining': '0',
        'anthropic-ratelimit-tokens-reset': '2026-01-01T10:00:30Z',
      },
      NOW,
    )
    expect(feedback).toEqual({
      retryAfterMs: 30_000,
      requests: { limit: 50, remaining: 49, resetMs: 1_000 },
      tokens: { limit: 40_000, remaining: 0, resetMs: 30_000 },
    })
  })

  it.each([
    ['450ms', 450],
    ['1m30.5s', 90_500],
    ['12', 12_000],
    ['later', null],
  ])('a reset of %s', (written, expected) => {
    const headers = { 'x-ratelimit-reset-tokens': written }
    expect(readFeedback(headers, NOW).tokens.resetMs).toBe(expected)
  })

  it('an error that carries headers, or the response with them, is read too', () => {
    const headers = { 'retry-after': '3' }
    const error = Object.assign(new Error('429'), { status: 429, headers: new Headers(headers) })
    expect(readFeedback(error, NOW).retryAfterMs).toBe(3_000)
    const nested = Object.assign(new Error('429'), { response: { headers } })
    expect(readFeedback(nested, NOW).retryAfterMs).toBe(3_000)
    expect(readFeedback(new Error('no headers'), NOW).retryAfterMs).toBeNull()
    expect(readFeedback(null, NOW).retryAfterMs).toBeNull()
  })
})
