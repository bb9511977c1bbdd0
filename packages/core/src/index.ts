/** The rules of Fairlead for direct use. They are pure: `now` and every seed are arguments. */

// Values, hashes, ids
export { fromHex, toHex } from './encoding/bytes.ts'
export { CborFloat, type CborMap, type CborValue, decodeCbor, encodeCbor } from './encoding/cbor.ts'
export { sha3Hex, taggedHash, taggedHashHex } from './encoding/hash.ts'
export {
  type Caller,
  callerOf,
  claimKey,
  idempotencyKey,
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

// Errors
export { type ErrorCode, type ErrorDetails, ERRORS, FairleadError } from './errors.ts'

// Settings
export {
  parsePolicy,
  type Policy,
  POLICY_FIELDS,
  type Preset,
  PRESETS,
  showPolicy,
} from './policy/policy.ts'

// The market: jobs, leases and providers in memory
export { advanceMarket, changePolicy } from './market/advance-market.ts'
export { Job, type JobOrigin } from './market/job.ts'
export { type Market, type MarketEvent, openMarket } from './market/market.ts'

// Enqueue
export { enqueueJob, type NewJob } from './enqueue/enqueue-job.ts'
export {
  aiDemand,
  type Demand,
  KIND_NAMES,
  type KindName,
  quantumDemand,
  registrationDemand,
  taskDemand,
} from './enqueue/kinds.ts'

// Sessions: registrations, and when each is sent
export type { SessionKey } from './sessions/session-order.ts'

// Limits: reserve and complete
export type { CompleteAnswer, ReserveAnswer } from './limits/limit-answers.ts'
export type { Limit } from './limits/limit-definition.ts'
export type { LimitView } from './limits/limits.ts'

// Match
export { dispatchRound } from './match/dispatch-round.ts'
export { type Refusal, REFUSALS } from './match/eligibility.ts'
export { explainWaiting, type WaitExplanation } from './match/explain-job.ts'
export { WAIT_REASONS, type WaitReason } from './match/wait-gate.ts'
export type { AttemptLog, AttemptProgress, JobLogs, LogLine } from './ports/job-logs.ts'
export type { LeaseProgress } from './ports/lease-source.ts'
export type { BulkAction, BulkRun } from './bulk/bulk-runs.ts'
export type { CatchUp, Overlap, Schedule } from './schedules/schedules.ts'
export type { Pause } from './admit/pauses.ts'

// Lease
export { ackLease, declineLease, releaseLease, renewLease } from './lease/lease-calls.ts'
export { isLive, LEASE_STATUSES, LEASE_TABLE, type LeaseStatus } from './lease/lease-table.ts'
export type { Lease } from './lease/lease.ts'

// Outcome
export { cancelJob } from './outcome/cancel-job.ts'
export { completeLease, type Completion } from './outcome/complete-lease.ts'
export { forgetEnded } from './outcome/end-job.ts'
export { failLease, type Failure } from './outcome/fail-lease.ts'
export { hasEnded, JOB_STATUSES, JOB_TABLE, type JobStatus } from './outcome/job-table.ts'
export { keptSince } from './outcome/ttl.ts'

// Options of one job
export { cascade } from './options/cascade.ts'
export type { Backoff, JobOptions, OnDependency } from './options/job-options.ts'

// Registry
export { recordHeartbeat } from './registry/health.ts'
export { registerProvider, setProviderStatus, updateOffer } from './registry/provider-status.ts'
export {
  type NewProvider,
  newProvider,
  type Provider,
  type ProviderOffer,
} from './registry/provider.ts'
export { PROVIDER_STATUSES, type ProviderStatus } from './registry/standing/status.ts'

// Proofs of work, and the attestations behind them
export { publicKeyOf, signEd25519, verifyEd25519 } from './encoding/ed25519.ts'
export { attestationHash, nullifierOf } from './encoding/ids.ts'
export { attestationMessage } from './registry/attestation/check-attestation.ts'
export {
  type BuiltProof,
  buildProof,
  ENVELOPE_BYTES_MAX,
  type Proof,
  readProof,
} from './settle/proof/envelope.ts'
export { NO_ATTESTATION } from './settle/proof/check-proof.ts'
export type { ProofBody, Qos, Traps } from './settle/proof/proof-body.ts'

// Settlement: batches, and how anybody verifies them
export { type Batch, batchIdOf, NO_BATCH, type Totals } from './settle/epoch/batch.ts'
export { BatchChain, type BatchVerdict } from './settle/epoch/batch-chain.ts'
export {
  BATCH_FORMAT,
  PAYOUTS_FORMAT,
  type PayoutProof,
  payoutProofOf,
  type ProvedPayout,
  readSettlement,
  type SettledBatch,
  type Settlement,
  showPayoutProof,
  showSettledBatch,
} from './settle/epoch/batch-file.ts'
export type { BatchFault } from './settle/epoch/check-batch.ts'
export {
  type ClaimLine,
  type PayoutLine,
  readClaimLine,
  readPayoutLine,
  showClaimLine,
  showPayoutLine,
} from './settle/epoch/line.ts'
export {
  EMPTY_ROOT,
  type MerkleSibling,
  merkleProof,
  merkleRoot,
  type MerkleTree,
} from './settle/epoch/merkle.ts'
export type { SplitBps } from './settle/epoch/price.ts'
export {
  batchProblem,
  brokenBatch,
  type ListedBatch,
  unanchoredBatch,
  verifyPayoutLine,
  type WholeBatch,
} from './settle/epoch/verify-batch.ts'

// Audit
export {
  type AuditEntry,
  type AuditHead,
  type AuditRecord,
  brokenSeq,
  EMPTY_AUDIT,
} from './audit/chain.ts'

// Ports: what the engine needs of the outside world
export type { Clock } from './ports/clock.ts'
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
export type { FailureRow, JobRow, LeaseRow, ResultRow } from './ports/rows.ts'
export type { Store } from './ports/store.ts'
