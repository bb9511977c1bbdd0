/**
 * The rules of Fairlead. Pure: no I/O, no clock, no dice; `now` and every seed are arguments.
 * Listed in the order in which a job meets them.
 */

// Values, hashes, ids
export { compareAscii, fromHex, isHex32, toHex, writeHex } from './encoding/bytes.ts'
export { compareText } from './encoding/text.ts'
export { CborFloat, type CborMap, type CborValue, decodeCbor, encodeCbor } from './encoding/cbor.ts'
export {
  type HashField,
  sha3,
  sha3Hex,
  taggedHash,
  taggedHashHex,
  uvarint,
} from './encoding/hash.ts'
export {
  type Caller,
  callerOf,
  claimKey,
  idempotencyKey,
  isProviderName,
  isWorkerName,
  type JobId,
  type LeaseId,
  leaseId,
  localBeacon,
  matchSeed,
  pairHash,
  type ProviderId,
  providerIdOf,
  retryHash,
  type Seed,
  taskId,
  type WorkerId,
} from './encoding/ids.ts'
export { type ExactInt, exactInt } from './encoding/exact-int.ts'
export { jsonOf } from './encoding/json-of.ts'
export { isoUtc } from './encoding/iso-utc.ts'
export { TransitMap } from './collections/transit-map.ts'
export { readU64, showU64, U64_MAX } from './encoding/u64.ts'

// Errors and settings
export {
  type ErrorCode,
  type ErrorDetails,
  ERRORS,
  FairleadError,
  invalidParams,
  invariant,
  limitExceeded,
} from './errors.ts'
export {
  parsePolicy,
  POLICY_FIELDS,
  type Policy,
  policySettings,
  MATCH_ORDERS,
  type Preset,
  PRESETS,
  showPolicy,
} from './policy/policy.ts'
export { isPlainObject } from './encoding/plain-object.ts'
export {
  type Field,
  flag,
  int,
  intsByName,
  names,
  oneOf,
  thousandths,
} from './policy/policy-field.ts'
export {
  problemList,
  readSettings,
  type SettingPath,
  type SettingsOf,
  type SettingsTable,
  settingPaths,
  snakeCase,
  unknownSetting,
} from './policy/settings-table.ts'

// The market: jobs, leases and providers in memory
export {
  advanceMarket,
  changePolicy,
  isDueBy,
  nextClaimAt,
  nextDueAt,
} from './market/advance-market.ts'
export {
  type EndReason,
  Job,
  type JobNeeds,
  type JobOrigin,
  type KnownEndReason,
} from './market/job.ts'
export {
  type CancelReason,
  type Charge,
  type Market,
  type MarketEvent,
  openMarket,
  type RequeueReason,
  type SessionTouch,
  type Touch,
} from './market/market.ts'

// Sessions: registrations in memory, and when each is sent
export {
  type DispatchTouch,
  type Service,
  SessionDispatch,
  type SessionDispatchState,
  type SessionSend,
} from './sessions/session-dispatch.ts'

// Enqueue
export { enqueueJob, type NewJob, newJob } from './enqueue/enqueue-job.ts'
export {
  aiDemand,
  type Demand,
  type Kind,
  KIND_NAMES,
  type KindName,
  KINDS,
  quantumDemand,
  registrationDemand,
  taskDemand,
} from './enqueue/kinds.ts'
export { type SessionFacts, sessionFacts, setOpening } from './sessions/join-session.ts'
export type { PayloadField } from './enqueue/payload.ts'
export {
  type Brought,
  isErased,
  isUnreadable,
  resultWithoutPeople,
  sealedIn,
  sealedInResult,
  sealedPayload,
  sealedResult,
  unreadablePayload,
  unreadableResult,
  withoutPeople,
} from './enqueue/personal.ts'
export { type AcceptedRequest, acceptRequest, readTxHash } from './enqueue/request.ts'
export { storedRow } from './enqueue/stored-row.ts'

// Order
export {
  type DispatchJob,
  type DispatchJobState,
  dispatchJobState,
  type SessionEnd,
} from './sessions/dispatch-job.ts'
export type { FairState } from './order/fair-shares.ts'
export { OrgDispatch, type OrgDispatchState } from './sessions/org-dispatch.ts'
export type { DispatchKey } from './sessions/org-table.ts'
export { type QueuedJob, type Shape, shapeOf } from './order/queued-job.ts'
export {
  type PriorityPolicy,
  scoreAt,
  type Scored,
  type ScoreTerms,
  scoreTerms,
  shownScore,
  staticScore,
} from './order/score.ts'
export {
  compareInSession,
  compareSessions,
  minSpacingMs,
  type OpenGroup,
  type SessionJob,
  type SessionKey,
  SessionRanks,
  type SessionRequest,
  tieBreaker,
} from './sessions/session-order.ts'
export { type Seat, type SessionRecord, SessionTable } from './sessions/session-table.ts'
export {
  explainSession,
  type SessionGate,
  type SessionWait,
  sessionGates,
} from './sessions/explain-session.ts'
export {
  type Batch,
  type QueueState,
  type ReadyGroup,
  type Verdict,
  WaitingQueue,
} from './order/waiting-queue.ts'

// Admit
export type { AdmitRequirement, AdmitRule } from './policy/admit-policy.ts'
export {
  AdmitRound,
  type LimitClaim,
  type LimitClaims,
  type LimitHold,
  type LimitHoldReason,
  NO_CLAIMS,
} from './admit/admit-round.ts'
export { AdmitRules } from './admit/admit-rules.ts'
export { allowedInFlight, type DispatchBudget } from './admit/dispatch-budget.ts'
export { type PlatformPolicy, platformPolicy, type PlatformRows } from './policy/platform-policy.ts'
export { type Assigned, addUnits, epochOf, RequesterWindows, unitsUsed } from './admit/quotas.ts'
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
} from './limits/limit-answers.ts'
export {
  isLimitKey,
  LIMIT_CALLERS_MAX,
  type BucketLimit,
  capacityOf,
  type ConcurrencyLimit,
  type FixedLimit,
  isTextWithin,
  type Limit,
  LIMIT_KINDS,
  type LimitKind,
  type Overage,
  readLimit,
  type RollingLimit,
} from './limits/limit-definition.ts'
export {
  LEASES_MAX,
  Limits,
  type LimitsOptions,
  type LimitsState,
  type LimitsTouch,
  type LimitView,
  OTHER_REQUIREMENTS,
  REMEMBER_MS,
  type StoredHold,
} from './limits/limits.ts'
export {
  type LimitChanges,
  type LimitLeaseState,
  MarketLimits,
  type MarketLimitsState,
} from './limits/market-limits.ts'
export type { MeterState } from './limits/meter.ts'
export type { HeldLease, RememberedLease } from './limits/remembered-leases.ts'
export {
  type Actual,
  addUp,
  checkLimitBatch,
  checkLimitRequest,
  completeProblem,
  LIMIT_BATCH_MAX,
  type LimitCall,
  type Requirement,
  REQUIREMENTS_MAX,
  reserveProblem,
} from './limits/reserve-request.ts'
export { type AcquireAnswer, type PoolStart, SharedUsage } from './slots/shared-usage.ts'
export {
  type BorrowInput,
  DAY_MS,
  type Dimension,
  isOfMinute,
  isOfTokens,
  type JobEstimate,
  mayBorrow,
  MINUTE_MS,
  type ModelLimits,
  poolOf,
  RATE_DIMENSIONS,
  type RateDimension,
  type Shares,
  type SlotPool,
  type TypeSlots,
  typeSlots,
  type Usage,
} from './slots/slot-pool.ts'
export {
  adjustRatios,
  initRatios,
  RATIO_POLICY,
  type RatioPolicy,
  type Ratios,
  type TypeLoad,
  WHOLE_PPM,
} from './slots/job-type-ratios.ts'

// Match
export { dispatchRound } from './match/dispatch-round.ts'
export {
  type Candidate,
  type Load,
  type Refusal,
  refusalOf,
  REFUSALS,
  type Terms,
} from './match/eligibility.ts'
export {
  explainWaiting,
  type ProviderCheck,
  termsNow,
  type WaitExplanation,
  type WaitReason,
} from './match/explain-job.ts'
export { type KindRound, matchRound, type RoundInput } from './match/match-round.ts'
export { ProviderPool } from './match/provider-pool.ts'
export type { Assignment } from './match/provider-search.ts'
export { type RoundRefusals, roundRefusals } from './match/round-refusals.ts'
export { SeededDice, SeededShuffle } from './match/seeded-shuffle.ts'

// Lease
export { withdrawLease } from './lease/give-back.ts'
export { holdLease } from './lease/hold-lease.ts'
export { issueLease } from './lease/issue-lease.ts'
export { ackDueAt, type Lease, type LeaseTerms, renewBy } from './lease/lease.ts'
export {
  ackLease,
  declineLease,
  heldByOther,
  type LeaseCall,
  releaseLease,
  renewLease,
} from './lease/lease-calls.ts'
export {
  isLive,
  LEASE_EVENTS,
  LEASE_STATUSES,
  LEASE_TABLE,
  type LeaseEvent,
  type LeaseStatus,
  nextLeaseStatus,
} from './lease/lease-table.ts'

// Outcome
export { backoffSecs } from './outcome/backoff.ts'
export {
  type AnswerMeanings,
  classifyAnswer,
  type ErrorTaxonomy,
  type OutcomeClass,
} from './outcome/classify.ts'
export { completeLease, type Completion, settleProof } from './outcome/complete-lease.ts'
export { cancelJob } from './outcome/cancel-job.ts'
export { connectedWorkers, resumeMarket } from './market/resume-market.ts'
export { forgetEnded } from './outcome/end-job.ts'
export { FOUND_OUTPUT } from './outcome/fail-attempt.ts'
export { type Failure, failLease } from './outcome/fail-lease.ts'
export { type AttemptOutcome, type Lookup, lookupDecides } from './outcome/judge-attempt.ts'
export {
  hasEnded,
  JOB_EVENTS,
  JOB_STATUSES,
  JOB_TABLE,
  type JobEvent,
  type JobStatus,
  nextJobStatus,
} from './outcome/job-table.ts'

// Registry
export { HEALTH, recordHeartbeat } from './registry/health.ts'
export {
  type Attestation,
  type ClassCooldown,
  classKey,
  leaseCap,
  type NewProvider,
  newProvider,
  type Provider,
  type ProviderOffer,
  PROVIDER_STATUSES,
  PROVIDER_TABLE,
  type ProviderStatus,
  stakeNeeded,
} from './registry/provider.ts'
export { registerProvider, setProviderStatus, updateOffer } from './registry/provider-status.ts'
export {
  connectWorker,
  disconnectWorker,
  leasesOfWorker,
  setWorkerSlots,
  type WorkerConnect,
} from './registry/worker-calls.ts'
export { newWorkers, type Worker, type Workers } from './registry/workers.ts'

// Audit
export {
  appendAudit,
  appendAuditBytes,
  moveAuditHash,
  type AuditEntry,
  type AuditHead,
  type AuditRecord,
  brokenSeq,
  EMPTY_AUDIT,
} from './audit/chain.ts'
export { type Loggable, pseudonym, REDACTED, redactor, redactText } from './audit/redact.ts'

// Ports: what the engine needs of the outside world
export type { Clock, StandstillWatch } from './ports/clock.ts'
export type {
  LeaseFailure,
  LeaseListener,
  LeaseOffer,
  LeaseResult,
  LeaseSession,
  LeaseSource,
  LeaseTask,
  LeaseTimes,
  LostReason,
  ProviderNotice,
  WorkerHello,
} from './ports/lease-source.ts'
export type { CompleteRequest, Limiter, ReserveRequest } from './ports/limiter.ts'
export {
  type AnyRow,
  type EndedSpan,
  FAILURES_KEPT,
  type FailureRow,
  type JobFacts,
  type JobFilter,
  type JobRow,
  type JobState,
  type JournalRecord,
  type LaneRow,
  type LeaseFacts,
  type LeaseRow,
  type LeaseState,
  type Meta,
  type ProviderRow,
  PROVIDERS_KEPT,
  type ResultRow,
  ROUNDS_KEPT,
  type RoundRow,
  type ShareRow,
  type Snapshot,
  type Store,
  type StoreReads,
  type WorkerRow,
  type WriteBatch,
  type NewJobRow,
} from './ports/store.ts'

export { type AttemptError, registrationCode } from './outcome/attempt-error.ts'
export { adviceOn, noticeOf } from './registry/notice.ts'

export { usablePolicy } from './policy/usable-policy.ts'
export { wholeNumber } from './encoding/whole-number.ts'
