/**
 * The rules of Fairlead. Pure: no I/O, no clock, no dice; `now` and every seed are arguments.
 * Listed in the order in which a job meets them.
 */

// Admit
export { addUnits, epochOf, RequesterWindows, unitsUsed } from './admit/quotas.ts'
export { advanceMarket, changePolicy, nextDueAt } from './advance-market.ts'
// Audit
export {
  type AuditEntry,
  type AuditHead,
  type AuditRecord,
  appendAudit,
  brokenSeq,
  EMPTY_AUDIT,
} from './audit/chain.ts'
export { type Loggable, pseudonym, REDACTED, redactor, redactText } from './audit/redact.ts'
export { compareAscii, compareText, fromHex, toHex } from './bytes.ts'
// Values, hashes, ids
export { CborFloat, type CborMap, type CborValue, decodeCbor, encodeCbor } from './cbor.ts'
export { enqueueJob, type NewJob, newJob } from './enqueue/enqueue-job.ts'
// Enqueue
export {
  aiDemand,
  type Demand,
  KIND_NAMES,
  KINDS,
  type Kind,
  type KindName,
  quantumDemand,
  taskDemand,
} from './enqueue/kinds.ts'
export type { PayloadField } from './enqueue/payload.ts'
export { type AcceptedRequest, acceptRequest } from './enqueue/request.ts'
// Errors and settings
export { ERRORS, type ErrorCode, type ErrorDetails, FairleadError, invariant } from './errors.ts'
export { type HashField, sha3, taggedHash, taggedHashHex, uvarint } from './hash.ts'
export {
  type Caller,
  callerOf,
  claimKey,
  isProviderName,
  type JobId,
  type LeaseId,
  leaseId,
  localBeacon,
  matchSeed,
  type ProviderId,
  pairHash,
  providerIdOf,
  retryHash,
  type Seed,
  taskId,
} from './ids.ts'
export { type EndReason, Job } from './job.ts'
export { issueLease } from './lease/issue-lease.ts'
// Lease
export { type Lease, type LeaseTerms, renewBy } from './lease/lease.ts'
export {
  ackLease,
  declineLease,
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
// The market: jobs, leases and providers in memory
export {
  type CancelReason,
  type Charge,
  type Market,
  type MarketEvent,
  openMarket,
  type RequeueReason,
} from './market.ts'
export { dispatchRound } from './match/dispatch-round.ts'
// Match
export {
  type Candidate,
  type Load,
  REFUSALS,
  type Refusal,
  refusalOf,
  type Terms,
} from './match/eligibility.ts'
export { explainWaiting, type WaitExplanation, type WaitReason } from './match/explain-job.ts'
export { type KindRound, matchRound, type RoundInput } from './match/match-round.ts'
export { ProviderPool } from './match/provider-pool.ts'
export type { Assignment } from './match/provider-search.ts'
export { SeededDice, SeededShuffle } from './match/seeded-shuffle.ts'
export type { FairState } from './order/fair-shares.ts'
// Order
export { type QueuedJob, type Shape, shapeOf } from './order/queued-job.ts'
export {
  type PriorityPolicy,
  type Scored,
  type ScoreTerms,
  scoreAt,
  scoreTerms,
  shownScore,
  staticScore,
} from './order/score.ts'
export {
  compareInSession,
  compareSessions,
  minSpacingMs,
  type SessionJob,
  type SessionKey,
  SessionRanks,
  type SessionRequest,
  tieBreaker,
} from './order/session-order.ts'
export { type Batch, type QueueState, type Verdict, WaitingQueue } from './order/waiting-queue.ts'
export { backoffSecs } from './outcome/backoff.ts'
export { type Completion, completeLease, settleProof } from './outcome/complete-lease.ts'
export { cancelJob } from './outcome/end-job.ts'
export { type Failure, failLease } from './outcome/fail-lease.ts'

// Outcome
export {
  hasEnded,
  JOB_EVENTS,
  JOB_STATUSES,
  JOB_TABLE,
  type JobEvent,
  type JobStatus,
  nextJobStatus,
} from './outcome/job-table.ts'
export {
  POLICY_FIELDS,
  type Policy,
  PRESETS,
  type Preset,
  parsePolicy,
  policySettings,
} from './policy.ts'
export type { Field } from './policy-field.ts'
export { HEALTH, recordHeartbeat } from './registry/health.ts'
// Registry
export {
  type Attestation,
  type ClassCooldown,
  classKey,
  leaseCap,
  type NewProvider,
  newProvider,
  PROVIDER_STATUSES,
  PROVIDER_TABLE,
  type Provider,
  type ProviderOffer,
  type ProviderStatus,
  stakeNeeded,
} from './registry/provider.ts'
export { registerProvider, setProviderStatus } from './registry/provider-status.ts'
export { readU64, showU64 } from './u64.ts'
