/** Rules that only the packages of Fairlead use. They may change in any release. */

// Admit
export type { LimitHold, LimitHoldReason } from './admit/admit-round.ts'
export { allowedInFlight } from './admit/dispatch-budget.ts'
export {
  PAUSABLE_KINDS,
  PAUSES_MAX,
  type PauseKey,
  Pauses,
  pauseId,
} from './admit/pauses.ts'
export { type Assigned, addUnits, epochOf, RequesterWindows } from './admit/quotas.ts'
// Audit
export { appendAudit, appendAuditBytes, moveAuditHash } from './audit/chain.ts'
export { type Loggable, pseudonym, REDACTED, redactor } from './audit/redact.ts'
// Many at once
export {
  BULK_ACTIONS,
  BULK_ID,
  BULK_LIMIT_MAX,
  BULK_STEP_MAX,
  type BulkAction,
  type BulkRun,
  BulkRuns,
} from './bulk/bulk-runs.ts'
// Collections
export { TransitMap } from './collections/transit-map.ts'
// Values, hashes, ids
export { compareAscii, isHex32, writeHex } from './encoding/bytes.ts'
export { readPublicKey } from './encoding/ed25519.ts'
export type { ExactInt } from './encoding/exact-int.ts'
export { type HashField, sha3, uvarint } from './encoding/hash.ts'
export { isProviderName } from './encoding/ids.ts'
export { isoUtc } from './encoding/iso-utc.ts'
export {
  type CertificateRequest,
  issueCertificate,
  issueRoot,
} from './encoding/issue-certificate.ts'
export { jsonOf } from './encoding/json-of.ts'
export { isPlainObject } from './encoding/plain-object.ts'
export { compareText } from './encoding/text.ts'
export { readU64, showU64, U64_MAX } from './encoding/u64.ts'
export { wholeNumber } from './encoding/whole-number.ts'
// Enqueue
export { newJob } from './enqueue/enqueue-job.ts'
export { KINDS, type Kind, type ProofType, proofTypeOf } from './enqueue/kinds.ts'
export { isOwnTask, webhookOf, webhookTask } from './enqueue/own-tasks.ts'
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
// Errors
export { invalidParams, invariant, limitExceeded } from './errors.ts'
// Lease
export { withdrawLease } from './lease/give-back.ts'
export { holdLease } from './lease/hold-lease.ts'
export { issueLease } from './lease/issue-lease.ts'
export { ackDueAt, isTimedOut, renewBy } from './lease/lease.ts'
export { heldByOther } from './lease/lease-calls.ts'
export type { Progress } from './lease/progress.ts'
// Limits: reserve and complete
export { type Excess, notAllowed, notCompleted, unknownReserve } from './limits/limit-answers.ts'
export {
  capacityOf,
  isLimitKey,
  isTextWithin,
  LIMIT_CALLERS_MAX,
  LIMIT_KINDS,
  readLimit,
} from './limits/limit-definition.ts'
export type { LimitChanges, LimitLeaseState, MarketLimitsState } from './limits/market-limits.ts'
export type { MeterState } from './limits/meter.ts'
export {
  checkLimitBatch,
  checkLimitRequest,
  completeProblem,
  LIMIT_BATCH_MAX,
  type LimitCall,
  REQUIREMENTS_MAX,
  type Requirement,
  reserveProblem,
} from './limits/reserve-request.ts'
export type { LimitHolder, Reserved } from './limits/reserved.ts'
// The market: jobs, leases and providers in memory
export { isDueBy, nextClaimAt, nextDueAt } from './market/advance-market.ts'
export type { EndReason, JobNeeds, KnownEndReason } from './market/job.ts'
export type { CancelReason, SessionTouch, Touch } from './market/market.ts'
export { connectedWorkers, resumeMarket } from './market/resume-market.ts'
// Match
export { jobRefusal, loadOf, providerRefusal, refusalOf, type Terms } from './match/eligibility.ts'
export { type ProviderCheck, termsNow } from './match/explain-job.ts'
export { type KindRound, matchRound } from './match/match-round.ts'
export { opensAt } from './match/opens-at.ts'
export { ProviderPool } from './match/provider-pool.ts'
export { roundRefusals } from './match/round-refusals.ts'
export { SeededDice, SeededShuffle } from './match/seeded-shuffle.ts'
export { waitGate } from './match/wait-gate.ts'
export { CASCADE_JOBS } from './options/cascade.ts'
export { dedupeNameOf, duplicateOf } from './options/dedupe.ts'
export { DEPENDENTS_MAX, EDGES_MAX, type EndedDependency } from './options/dependencies.ts'
export {
  ATTEMPTS,
  BACKOFF_FIELDS,
  DEPENDENCIES_MAX,
  isTag,
  ON_DEPENDENCY,
  OPTION_FIELDS,
  PRIORITY,
  RETENTION_SECS,
  readBackoff,
  showBackoff,
  TAGS_MAX,
  TIMEOUT_MS,
} from './options/job-options.ts'
export { attemptsMax, priorityOf, timeoutMsOf } from './options/terms.ts'
// Order
export { type FairState, type Share, virtualCost, weightOf } from './order/fair-shares.ts'
export { scoreAt } from './order/score.ts'
export {
  type QueueState,
  type ReadyCaller,
  type ReadyGroup,
  WaitingQueue,
} from './order/waiting-queue.ts'
// Outcome
export { attemptError, registrationCode } from './outcome/attempt-error.ts'
export { backoffSecs, jobBackoffMs } from './outcome/backoff.ts'
export { classifyAnswer, type ErrorTaxonomy, type OutcomeClass } from './outcome/classify.ts'
export { decideProof } from './outcome/complete-lease.ts'
export { FOUND_OUTPUT } from './outcome/fail-attempt.ts'
export { type AttemptOutcome, type Lookup, lookupDecides } from './outcome/judge-attempt.ts'
export { longestRetentionSecs, retentionSecs, shorterRetentions } from './outcome/retention.ts'
export {
  type AttestationClass,
  type AttestationClasses,
  classNamed,
} from './policy/attestation-policy.ts'
export type { DepthRow, Economics } from './policy/economics-policy.ts'
export { type FundPolicy, policyHash } from './policy/fund-hash.ts'
export { readFundPolicy, showFundPolicy } from './policy/fund-json.ts'
// Settings
export { type PlatformPolicy, type PlatformRows, platformPolicy } from './policy/platform-policy.ts'
export { MATCH_ORDERS, policySettings } from './policy/policy.ts'
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
  showSettings,
  snakeCase,
} from './policy/settings-table.ts'
export { BANDS, type Band, type Dimension, type Severity, type Sla } from './policy/sla-policy.ts'
export { usablePolicy } from './policy/usable-policy.ts'
// Ports: what the engine needs of the outside world
export type { StandstillWatch } from './ports/clock.ts'
export type { Log, LogEnd, LogRecord } from './ports/log.ts'
export {
  type AnyRow,
  type EndedSpan,
  FAILURES_KEPT,
  type JobFacts,
  type JobState,
  type JournalRecord,
  type KeyedRow,
  type LeaseFacts,
  type LeaseState,
  type NewJobRow,
  NO_ROWS,
  PROVIDERS_KEPT,
  type ProviderRow,
  type PrunedJobs,
  type ResultClaim,
  ROUNDS_KEPT,
  type RoundRow,
  type ShareRow,
  type WorkerRow,
  type WriteBatch,
} from './ports/rows.ts'
export type {
  EndedRange,
  JobFilter,
  KeyPrints,
  Snapshot,
  StoreReads,
  Tables,
} from './ports/tables.ts'
export {
  attestProvider,
  openChallenge,
  replaceKey,
} from './registry/attestation/attest-provider.ts'
// Registry
export {
  type AcceptedAttestation,
  attestationProblem,
  isAttestedFor,
  kindsOf,
} from './registry/attestation/attestation.ts'
export {
  ATTESTATION_REASONS,
  type AttestationReason,
  type AttestationRequest,
  CERTIFICATE_BYTES_MAX,
  CERTIFICATES_MAX,
  CHALLENGE_MS,
  type Challenge,
  checkAttestation,
} from './registry/attestation/check-attestation.ts'
export { adviceOn, noticeOf } from './registry/notice.ts'
export { type Attestation, classKey, leaseCap, stakeNeeded } from './registry/provider.ts'
export { admitProvider, changeStanding } from './registry/provider-status.ts'
export { type Figures, figuresOf, type Metric, type Metrics } from './registry/sla/figures.ts'
export {
  type Conduct,
  conductIn,
  type Judgement,
  judge,
  type KindConduct,
  type Violation,
  withOffence,
} from './registry/sla/judge.ts'
export { type Outcome, SLA_RESULTS, type SlaResult, unitMs } from './registry/sla/outcome.ts'
export { OutcomeWindow, type OutcomeWindowState } from './registry/sla/outcome-window.ts'
export { mirrorStake, stakeProvider, unstakeProvider } from './registry/stake-provider.ts'
export {
  admitted,
  type Credentials,
  JAILED_FOR_GOOD,
  jailed,
  NEW_STANDING,
  penaltyEnd,
  type Standing,
  setStanding,
  standingOf,
  statusEndsAt,
  statusOf,
  suspended,
  withoutHealth,
} from './registry/standing/standing.ts'
export {
  connectWorker,
  disconnectWorker,
  leasesOfWorker,
  setWorkerSlots,
} from './registry/worker-calls.ts'
export { newWorkers, type Workers } from './registry/workers.ts'
// Schedules
export {
  CATCH_UPS,
  isSamePlan,
  OVERLAPS,
  putOver,
  SCHEDULE_ID,
  SCHEDULES_MAX,
  type ScheduleKey,
  type SchedulePlan,
  Schedules,
  scheduleId,
} from './schedules/schedules.ts'
// Sessions: registrations, and when each is sent
export type { DispatchJob, DispatchJobState } from './sessions/dispatch-job.ts'
export { explainSession, sessionGates } from './sessions/explain-session.ts'
export { type SessionFacts, sessionFacts, setOpening } from './sessions/join-session.ts'
export { OrgDispatch, type OrgDispatchState } from './sessions/org-dispatch.ts'
export type { DispatchKey } from './sessions/org-table.ts'
export {
  SessionDispatch,
  type SessionDispatchState,
  type SessionSend,
} from './sessions/session-dispatch.ts'
export {
  compareInSession,
  compareSessions,
  minSpacingMs,
  type OpenGroup,
  type SessionJob,
  SessionRanks,
  type SessionRequest,
  sessionUser,
  tieBreaker,
} from './sessions/session-order.ts'
export type { Seat, SessionRecord } from './sessions/session-table.ts'
// Settlement: proofs, claims, closes and the books
export type {
  Await,
  Block,
  ChainHead,
  Claim,
  ClaimEvent,
  ClaimsState,
  ClaimTerms,
} from './settle/chain/claim.ts'
export { Claims } from './settle/chain/claims.ts'
export { readBatch, showBatch, showTotals } from './settle/epoch/batch-json.ts'
export type { DueLine } from './settle/epoch/budget.ts'
export {
  type CloseInput,
  closeEpoch,
  type EpochClose,
  type PreviousBatch,
} from './settle/epoch/close-epoch.ts'
export { beginClose, type CloseRequest, settleEpoch } from './settle/epoch/close-market.ts'
export { type ComputedClose, computeClose } from './settle/epoch/compute-close.ts'
export {
  type BilledClaim,
  type CloseEffect,
  type CloseTerms,
  Epochs,
  type EpochsState,
} from './settle/epoch/epochs.ts'
export {
  buffersOf,
  type PackedClose,
  packClose,
  unpackClose,
  unpackEffect,
} from './settle/epoch/packed-close.ts'
export { type Price, type PricedWork, priceClaim, splitAmount } from './settle/epoch/price.ts'
export {
  decodeDue,
  listedBatchOf,
  type SettlementHead,
  type SettlementPart,
  type SettlementRow,
  settledBatchOf,
  settlementRow,
  storedPayoutProof,
} from './settle/epoch/settlement-row.ts'
export { Fund } from './settle/fund/fund.ts'
export type {
  Closing,
  EpochsDone,
  FundChanges,
  FundPart,
  FundParts,
  FundRow,
} from './settle/fund/fund-rows.ts'
export {
  EXTERNAL,
  FUND,
  ISSUANCE,
  isPayable,
  minerAccount,
  type Staked,
  stakeAccount,
  type Transfer,
  type Unstaking,
  unstakingAccount,
  unstakingSum,
} from './settle/ledger/account.ts'
export { Ledger, type LedgerState, type PayoutRecord } from './settle/ledger/ledger.ts'
export {
  changeStake,
  type Slash,
  type StakeChange,
  slashable,
} from './settle/ledger/stake-change.ts'
export {
  type AcceptedProof,
  type AwaitedLease,
  checkProof,
  type ProofAttestation,
  type ProofContext,
  type ProofReason,
  type ProofVerdict,
  type ProvedJob,
} from './settle/proof/check-proof.ts'
export { readProof } from './settle/proof/envelope.ts'
export {
  applyBlock,
  type BlockAnswer,
  type GivenProof,
  type ProofAnswer,
  type ProofReceipt,
  submitProof,
} from './settle/proof/prove-jobs.ts'
// Slots and job types
export { adjustRatios, initRatios, type Ratios } from './slots/job-type-ratios.ts'
export { SharedUsage } from './slots/shared-usage.ts'
export { type JobEstimate, type ModelLimits, poolOf, typeSlots } from './slots/slot-pool.ts'
