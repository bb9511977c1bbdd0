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
} from '@fairlead/core/limits'

// Slots and job types
export type {
  AllocationInfo,
  AllocationListener,
  ModelAllocation,
  ModelCapacity,
} from './slots/allocation-info.ts'
export type { JobUsage, Pricing } from './slots/cost.ts'
export {
  type AttemptReport,
  type JobContext,
  JobRejected,
  type RunJob,
} from './slots/job-outcome.ts'
export {
  createModelLimiter,
  type ModelLimiter,
  type ModelLimiterOptions,
  type RunOptions,
  type RunResult,
} from './slots/model-limiter.ts'
export type {
  AttemptEvent,
  JobTypeOptions,
  ModelLimiterEvents,
  ModelOptions,
  OverageEvent,
} from './slots/model-options.ts'
export type { ModelPools, PoolBackend, PoolsOptions } from './slots/model-pools.ts'
export type { ModelLimiterStats } from './slots/model-stats.ts'
export type { JobTypeRatioConfig, RatioAdjustmentConfig } from './slots/ratio-options.ts'

// Scheduler
export {
  type Feedback,
  type FeedbackSource,
  type HeadersLike,
  type ProviderLimit,
  readFeedback,
} from './scheduler/feedback.ts'
export { dailyKey, type ExecuteContext, modelKeys, type SchedulerJob } from './scheduler/job.ts'
export { createScheduler, type Scheduler } from './scheduler/scheduler.ts'
export type {
  JobEvent,
  SchedulerObserver,
  SchedulerOptions,
  WorkerOptions,
} from './scheduler/scheduler-options.ts'

// Observers, of both
export type { ObserverFailure, OnError } from './observers.ts'
