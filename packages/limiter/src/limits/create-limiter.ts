import { invalidParams, type Limit, type Limiter, readLimit } from '@fairlead/core/limits'
import { knownFields } from '../known-fields.ts'
import type { LimiterBackend } from './limiter-backend.ts'
import { memory } from './memory/memory-limiter.ts'

export interface LimiterOptions {
  readonly backend?: LimiterBackend
  readonly limits: readonly Limit[]
}

/** A limiter with these limits. A malformed limit is `InvalidParams` at once. */
export function createLimiter(options: LimiterOptions): Limiter {
  const { backend = memory(), limits } = knownFields('options', options, ['backend', 'limits'])
  if (!Array.isArray(limits)) throw invalidParams('limits', 'a list of limits; it may be empty')
  if (typeof backend.open !== 'function') throw invalidParams('backend', 'memory() or redis(url)')
  return backend.open(limits.map(readLimit))
}
