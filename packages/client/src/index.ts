/** A server's requesters and workers. Browsers get `browser.ts`, which is this without the workers. */

export type { ProviderNotice } from '@fairlead/core'
export { FairleadError } from '@fairlead/core/errors'
export type {
  BlockerRecord,
  BudgetRecord,
  ChangeRecord,
  ExplanationRecord,
  FairnessRecord,
  JobReceipt,
  JobRecord,
  JobSummary,
  MethodName,
  ParamsOf,
  ProofClaim,
  ProviderRecord,
  RegistrationRecord,
  ResultOf,
  ResultRecord,
  SessionRecord,
  SettingChangeRecord,
  SettingRecord,
  SpanRecord,
  Stats,
  StorageRecord,
  TenantRecord,
  Topic,
  VerdictRecord,
  WireEvent,
} from '@fairlead/protocol'
export type { Job } from './worker/attempt.ts'
export { Client, type ClientOptions, type ResultOptions } from './client.ts'
export { connect, NodeClient, type RemoteWorkerOptions, remoteLimiter } from './connect.ts'
export { drainOnSignals } from './worker/drain-on-signals.ts'
export { AttemptFailure, PermanentFailure, RetryAfter } from './worker/failure.ts'
export type { Json, Payloads } from './payloads.ts'
export { type AttestationRequest, attestProvider } from './prover/attest-provider.ts'
export type { AttestationOptions } from './prover/attester.ts'
export type { ProofFacts } from './prover/proof-of.ts'
export { KEY_VARIABLE, proverKey, readProviderKey } from './prover/provider-key.ts'
export type { ProverOptions, Proving } from './prover/prover.ts'
export type { ClaimedResult, ReadResult } from './read-result.ts'
export type { RemoteLimiterOptions } from './remote-limiter.ts'
export type { JobProgress } from './client.ts'
export type { BulkEnd, BulkFilter, BulkOptions, ScheduleOptions } from './client.ts'
export type { EnqueueOptions, EnqueueRequest, RequestPayloads } from './requests.ts'
export { Completion, type CompletionFields } from './result.ts'
export type { StandardSchema } from './standard-schema.ts'
export { steadyClock } from './steady-clock.ts'
export type { Line, LineListener, LineSocket, OpenLine } from './wire/line.ts'
export { WireLeaseSource, type WireOptions } from './wire/lease-source.ts'
export {
  type Handler,
  type WithSchema,
  type Worker,
  type WorkerOptions,
  worker,
} from './worker/worker.ts'
