/**
 * The rules that a limiter needs. They use no module or global of Node, so an in-memory limiter runs in every
 * runtime (LIMIT-18). The main entry hashes ids and needs `node:crypto`.
 */

// Values
export { type ExactInt, exactInt } from '../encoding/exact-int.ts'
export { isPlainObject } from '../encoding/plain-object.ts'
export { compareText, utf8Bytes } from '../encoding/text.ts'
export { wholeNumber } from '../encoding/whole-number.ts'
// Errors
export { FairleadError, invalidParams, invariant } from '../errors.ts'
// Ports
export type { Clock } from '../ports/clock.ts'
export type { CompleteRequest, Limiter, ReserveRequest } from '../ports/limiter.ts'
export {
  adjustRatios,
  initRatios,
  RATIO_POLICY,
  type RatioPolicy,
  type Ratios,
  type TypeLoad,
  WHOLE_PPM,
} from '../slots/job-type-ratios.ts'
// Slots and job types
export { type PoolStart, SharedUsage } from '../slots/shared-usage.ts'
export {
  type BorrowInput,
  DAY_MS,
  type Dimension,
  isOfMinute,
  isOfTokens,
  type JobEstimate,
  MINUTE_MS,
  type ModelLimits,
  mayBorrow,
  poolOf,
  RATE_DIMENSIONS,
  type RateDimension,
  type SlotPool,
  type TypeSlots,
  typeSlots,
  type Usage,
} from '../slots/slot-pool.ts'
// Limits: reserve and complete
export { ACTUAL_FACTOR_MAX } from './counted-actual.ts'
export {
  allowedAt,
  COMPLETED,
  type CompleteAnswer,
  type Excess,
  notAllowed,
  notCompleted,
  type ReserveAnswer,
  UNKNOWN_RETRY_MS,
  unknownReserve,
} from './limit-answers.ts'
export { capacityOf, isTextWithin, type Limit, readLimit } from './limit-definition.ts'
export {
  LEASES_MAX,
  Limits,
  type LimitsOptions,
  type LimitsState,
  type LimitView,
  OTHER_REQUIREMENTS,
  REMEMBER_MS,
} from './limits.ts'
export type { MeterState } from './meter.ts'
export {
  type Actual,
  addUp,
  checkLimitBatch,
  checkLimitRequest,
  completeProblem,
  LIMIT_BATCH_MAX,
  type LimitCall,
  type Requirement,
  reserveProblem,
} from './reserve-request.ts'
