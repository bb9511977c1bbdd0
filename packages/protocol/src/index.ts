/** The wire of Fairlead: what can be asked of a server, and what it says. */

export { checkParams } from './check-params.ts'
export type { EventDefinition, NotificationDefinition } from './event.ts'
export { EVENTS, event, type WireEvent } from './events/index.ts'
export { type AnyTopic, TOPICS, type Topic } from './events/topics.ts'
export { type Access, COMMON_ERRORS, type Method, ROLES, type Role } from './method.ts'
export { VERIFY_MAX } from './methods/audit-verify.ts'
export { METHODS, type MethodName, type WritingMethod } from './methods/index.ts'
export { POLL_WAIT_MAX_MS } from './methods/poll-leases.ts'
export { NOTIFICATIONS, type NotificationName } from './notifications/index.ts'
export { jsonSchemaOf, openRpcDocument } from './openrpc.ts'
export { methodsReference } from './reference.ts'
export type { AttestationRecord } from './records/attestation.ts'
export type { AuditEntryRecord } from './records/audit.ts'
export type { ProofClaim } from './records/claim.ts'
export type { BlockerRecord, ChangeRecord } from './records/dashboard/blocker.ts'
export type { BudgetRecord } from './records/dashboard/budget.ts'
export type { FairnessRecord, TenantRecord } from './records/dashboard/fairness.ts'
export type { SettingChangeRecord, SettingRecord } from './records/dashboard/setting.ts'
export type { SpanRecord } from './records/dashboard/span.ts'
export type { StorageRecord } from './records/dashboard/storage.ts'
export { VERDICTS, type VerdictRecord } from './records/dashboard/verdict.ts'
export type { ExplanationRecord } from './records/explanation.ts'
export type {
  AttemptErrorRecord,
  JobReceipt,
  JobRecord,
  JobSummary,
  ResultRecord,
} from './records/job.ts'
export type { JobOptionsRecord } from './records/job-options.ts'
export type { Assignment, Lease, Notice } from './records/lease.ts'
export {
  type CompleteRecord,
  type LimitComplete,
  type LimitDefinition,
  type LimitRecord,
  type LimitReserve,
  limitComplete,
  limitReserve,
  type ReserveRecord,
} from './records/limit.ts'
export type { ProviderRecord } from './records/provider.ts'
export type { BatchFile, BatchRecord, PayoutsFile } from './records/settlement.ts'
export type { PauseRecord, QueueRecord } from './records/queue.ts'
export type { ScheduleRecord } from './records/schedule.ts'
export type {
  DispatchKeyRecord,
  RegistrationRecord,
  SessionEntryRecord,
  SessionRecord,
} from './records/signup.ts'
export type { Stats } from './records/stats.ts'
export {
  BATCH_PROTOCOL,
  BEARER_PROTOCOL_PREFIX,
  completeOfWire,
  ERROR_NUMBERS,
  errorOfRpc,
  idOf,
  completeAnswerToWire,
  limitOfWire,
  limitToWire,
  MESSAGE_BYTES_MAX,
  namedParams,
  PLAIN_PROTOCOL,
  RPC_ERRORS,
  type RpcErrorData,
  type RpcErrorObject,
  type RpcFailure,
  type RpcId,
  type RpcRequest,
  type RpcResponse,
  type RpcResult,
  readRequest,
  reserveAnswerToWire,
  reserveOfWire,
  rpcErrorOf,
  viewToWire,
} from './rpc/index.ts'
export type { CheckedParamsOf, NotificationOf, ParamsOf, ResultOf } from './types.ts'
export { type WireCodec, wireCodec } from './wire/codec.ts'
export { type AnyPayload, PAYLOADS, type PayloadOf, PayloadView } from './wire/payload.ts'
