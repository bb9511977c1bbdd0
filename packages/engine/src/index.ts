/** The single writer: durable, deterministic, usable in-process without a server. */

export type { Census, QueueCensus } from './census.ts'
export type { Acting, Command, OutsideNote, Submission, TokenFacts } from './command.ts'
export { decodeBatch, encodeBatch, type LogBatch, type LogEntry } from './log/batch.ts'
export { assignedSince, stateOf } from './log/recovery.ts'
export { Replica, ReplicaDiverged } from './log/replica.ts'
export { type Completed, Engine, type Holder, type Requester } from './engine.ts'
export { EngineState, type Outcome } from './engine-state.ts'
export { EngineView, type JobFactsInMemory, type LeaseFactsInMemory } from './engine-view.ts'
export type {
  AssignedExplanation,
  AttemptExplanation,
  Explanation,
  JobEnd,
  PassedOver,
  RoundExplanation,
  WaitingExplanation,
} from './explain.ts'
export { durationText } from './duration-text.ts'
export { type FixedClock, fixClock, type MovableStore } from './fix-clock.ts'
export { explanationText } from './explanation-text.ts'
export { refusePruned } from './journal-cut.ts'
export { sealKeyId } from './sealed-store.ts'
export { type EngineEvent, type EngineNote, eventOf } from './journal.ts'
export { type EngineOptions, openEngine } from './open-engine.ts'
export type { Deliveries } from './outbox.ts'
export { acceptEnqueue } from './commands/accept-enqueue.ts'
export { KnownKeys } from './commands/known-keys.ts'
export { prepareCommands } from './prepare-commands.ts'
export type {
  KeyFigures,
  RegistrationFacts,
  SessionCounts,
  SessionEntry,
} from './session-view.ts'
export type { Unsubscribe } from './subscribers.ts'
export { SystemClock } from './system-clock.ts'
