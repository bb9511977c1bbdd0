import { type Limit, type Limiter, readLimit } from '@fairlead/core'
import type { LimiterBackend } from './limiter-backend.ts'
import { memory } from './memory/memory-limiter.ts'

export interface LimiterOptions {
  readonly backend?: LimiterBackend
  readonly limits: readonly Limit[]
}

/** A limiter with these limits. A malformed limit is `InvalidParams` at once. */
export function createLimiter({ backend = memory(), limits }: LimiterOptions): Limiter {
  return backend.open(limits.map(readLimit))
}
