/** The single writer: durable, deterministic, usable in-process without a server. */

export { isRetryable } from './bulk/retry-request.ts'
export type { BulkFilter } from './bulk/bulk-filter.ts'
export { type BulkCount, type BulkRequest, EngineBulk } from './engine-bulk.ts'
export type { EngineProgress, LiveProgress, ProgressReport } from './progress/engine-progress.ts'
export { EngineSchedules, type ScheduleRequest } from './engine-schedules.ts'
export { nextTimes } from './schedules/cadence.ts'
export type { Census, QueueCensus } from './view/census.ts'
export type { Acting, Command, OutsideNote, Submission, TokenFacts } from './commands/command.ts'
export { type AcceptedReplay, acceptReplay } from './log/accept-replay.ts'
export {
  decodeBatch,
  encodeBatch,
  type LogBatch,
  type LogEntry,
  UnreadableBatch,
} from './log/batch.ts'
export { newIncarnation } from './log/incarnation.ts'
export { assignedSince, catchUp, recoverState, stateOf } from './log/recovery.ts'
export { replayRefusal } from './log/replay-refusal.ts'
export { type Difference, Replica, ReplicaDiverged } from './log/replica.ts'
export { type Completed, Engine, type Holder, type Requester } from './engine.ts'
export { EngineState, type Outcome } from './state/engine-state.ts'
export {
  EngineView,
  type JobFactsInMemory,
  type LeaseFactsInMemory,
  type Waiting,
} from './view/engine-view.ts'
export { type Blocker, bestChange, type Change } from './view/waiting/blockers.ts'
export type { BudgetFigures } from './view/budgets.ts'
export type { KindFairness, Served, TenantFigures } from './view/fairness.ts'
export type { QueueFigures } from './view/queue-figures.ts'
export {
  type Check,
  type Problem,
  VERDICT_VALID_MS,
  type Verdict,
  verdictOf,
} from './explain/verdict.ts'
export type {
  AssignedExplanation,
  AttemptExplanation,
  Explanation,
  JobEnd,
  PassedOver,
  RoundExplanation,
  WaitingExplanation,
} from './explain/explain.ts'
export { durationText } from './explain/duration-text.ts'
export { type FixedClock, fixClock, type MovableStore } from './projector/fix-clock.ts'
export { explanationText } from './explain/explanation-text.ts'
export { refusePruned } from './commands/journal-cut.ts'
export { Sealer, sealKeyId } from './commands/sealer.ts'
export { type EngineEvent, type EngineNote, eventOf } from './state/journal.ts'
export { type EngineOptions, openEngine } from './open-engine.ts'
export type { Deliveries } from './workers/outbox.ts'
export { acceptReport } from './commands/accept-command.ts'
export { acceptEnqueue } from './commands/accept-enqueue.ts'
export { KnownKeys } from './commands/known-keys.ts'
export { DependencyFacts } from './commands/dependency-facts.ts'
export { LookUps } from './commands/look-ups.ts'
export type {
  KeyFigures,
  RegistrationFacts,
  SessionCounts,
  SessionEntry,
} from './view/session-view.ts'
export type { Unsubscribe } from './view/subscribers.ts'
export type { ComputeClose } from './fund/epoch-closer.ts'
export {
  type Balance,
  type ChainBlock,
  type ClaimStatus,
  EngineFund,
  type Service,
  type SettledEpoch,
} from './fund/engine-fund.ts'
export { fundRows } from './projector/fund-rows.ts'
export { threadedClose } from './fund/threaded-close.ts'
export { VERSION } from './version.ts'
export { SystemClock } from './loop/system-clock.ts'
