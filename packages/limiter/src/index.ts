/** Limits that an application keeps by itself, alone or together with its other instances. */

export { createLimiter, type LimiterOptions } from './limits/create-limiter.ts'
export {
  BATCH_MAX,
  type CompleteRequest,
  type Limiter,
  type LimiterBackend,
  type ReserveRequest,
} from './limits/limiter.ts'
export { memory, type MemoryOptions } from './limits/memory/memory-limiter.ts'
export { redis, type RedisOptions } from './limits/redis/redis-backend.ts'

// What the calls take and give is of the rules.
export type {
  Actual,
  CompleteAnswer,
  Limit,
  LimitView,
  Requirement,
  ReserveAnswer,
} from '@fairlead/core'
