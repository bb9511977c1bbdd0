import { describe, expect, it } from 'vitest'
import {
  ERRORS,
  type ErrorCode,
  FairleadError,
  invalidParams,
  invariant,
  limitExceeded,
} from './errors.ts'

/** The codes of the rules, in their order, and those that may succeed later as they are. */
const CODES =
  'InvalidParams LimitExceeded IdempotencyConflict QueueOverCapacity NotFound NoResultYet InvalidState LeaseNotLive RenewalsExhausted JobExpired InsufficientStake AttestationError NullifierReused ClaimMismatch Unauthorized Forbidden RateLimited NotLeader StoreUnavailable EventsPruned SchedulerClosed Internal'.split(
    ' ',
  ) as ErrorCode[]
const RETRYABLE = new Set<ErrorCode>([
  'QueueOverCapacity',
  'NoResultYet',
  'RateLimited',
  'NotLeader',
  'StoreUnavailable',
])

describe('error codes', () => {
  it('ERROR-1: there is every code of the specification and no other', () => {
    expect(Object.keys(ERRORS).sort()).toEqual([...CODES].sort())
    expect(CODES).toHaveLength(22)
  })

  it.each(CODES)('ERROR-1: %s is retryable only if the same call may succeed later', (code) => {
    const error = new FairleadError(code, 'message')
    expect(error.code).toBe(code)
    expect(error.retryable).toBe(RETRYABLE.has(code))
  })

  it('ERROR-4: every code says in words what it means, and no two say the same', () => {
    const texts = Object.values(ERRORS).map((row) => row.text)
    for (const text of texts) expect(text).toMatch(/^[a-z].{10,}[^.]$/)
    expect(new Set(texts).size).toBe(texts.length)
  })
})

describe('the error class', () => {
  it('ERROR-3: an error is a FairleadError with code, message, details and retryable', () => {
    const error = new FairleadError('QueueOverCapacity', 'full', { retry_after_ms: 250 })
    expect(error).toBeInstanceOf(Error)
    expect(error.name).toBe('FairleadError')
    expect({ ...error }).toMatchObject({
      code: 'QueueOverCapacity',
      details: { retry_after_ms: 250 },
      retryable: true,
    })
    expect(error.message).toBe('full')
    expect(error.cause).toBeUndefined()
  })

  it('ERROR-3: details are an object even where there are none', () => {
    expect(new FairleadError('NotFound', 'no such job').details).toEqual({})
  })

  it('ERROR-3: a cause is kept for logs and is not part of the details', () => {
    const cause = new Error('ECONNREFUSED 10.0.0.1')
    const error = new FairleadError('StoreUnavailable', 'the store is down', {}, { cause })
    expect(error.cause).toBe(cause)
    expect(error.message).not.toContain('ECONNREFUSED')
    expect(error.details).toEqual({})
  })
})

describe('refusals', () => {
  it('ERROR-2: InvalidParams names the field in its details and first in its message', () => {
    const error = invalidParams('max_tokens', 'a whole number', 'text')
    expect(error).toMatchObject({ code: 'InvalidParams', details: { field: 'max_tokens' } })
    expect(error.message).toBe('max_tokens: expected a whole number, got text')
    expect(invalidParams('kind', 'one of ai').message).toBe('kind: expected one of ai')
    expect(Object.keys(error.details)).toEqual(['field'])
    expect(error.retryable).toBe(false)
  })

  it('ENQUEUE-5: LimitExceeded has exactly limit, max and observed', () => {
    const error = limitExceeded('prompt', 65_536, 65_537)
    expect(error.code).toBe('LimitExceeded')
    expect(error.details).toEqual({ limit: 'prompt', max: 65_536, observed: 65_537 })
    expect(error.message).toMatch(/^prompt: .*65537.*65536/)
    expect(error.retryable).toBe(false)
  })

  it('ERROR-5: a broken belief about Fairlead itself is Internal', () => {
    expect(() => invariant(true, 'never')).not.toThrow()
    try {
      invariant(JSON.parse('false') as boolean, 'one is more than two')
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(FairleadError)
      expect(error).toMatchObject({ code: 'Internal', retryable: false })
      expect((error as Error).message).toContain('one is more than two')
    }
  })
})
