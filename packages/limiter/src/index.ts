/** Limits that an application keeps by itself, alone or together with its other instances. */

export { createLimiter, type LimiterOptions } from './limits/create-limiter.ts'
export type { LimiterBackend } from './limits/limiter-backend.ts'
export { memory, type MemoryOptions } from './limits/memory/memory-limiter.ts'
export { redis, type RedisOptions } from './limits/redis/redis-backend.ts'

// The port, and what its calls take and give, are of the rules.
export {
  type Actual,
  type CompleteAnswer,
  type CompleteRequest,
  LIMIT_BATCH_MAX as BATCH_MAX,
  type Limit,
  type Limiter,
  type LimitView,
  type Requirement,
  type ReserveAnswer,
  type ReserveRequest,
} from '@fairlead/core'

// Slots and job types
export type { JobUsage, Pricing } from './slots/cost.ts'
export { type JobContext, JobRejected, type RunJob } from './slots/job-outcome.ts'
export {
  createModelLimiter,
  type ModelLimiter,
  type ModelLimiterOptions,
  type RunOptions,
  type RunResult,
} from './slots/model-limiter.ts'
export type {
  AdjustOptions,
  JobTypeOptions,
  ModelLimiterEvents,
  ModelOptions,
  OverageEvent,
} from './slots/model-options.ts'
export type { ModelPools, PoolBackend, PoolsOptions } from './slots/model-pools.ts'
export type { ModelLimiterStats } from './slots/model-stats.ts'

// Scheduler
export {
  type Feedback,
  type FeedbackSource,
  type HeadersLike,
  type ProviderLimit,
  readFeedback,
} from './scheduler/feedback.ts'
export { dailyKey, modelKeys, type SchedulerJob } from './scheduler/job.ts'
export {
  createScheduler,
  type Scheduler,
  type SchedulerObserver,
  type SchedulerOptions,
} from './scheduler/scheduler.ts'
