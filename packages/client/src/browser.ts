/** The client without the worker, for browsers: nothing in here, or below it, needs Node. */

import { Client, type ClientOptions } from './client.ts'

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
export { Client, type ClientOptions, type ResultOptions } from './client.ts'
export type { ClaimedResult, ReadResult } from './read-result.ts'
export type { EnqueueOptions, EnqueueRequest, RequestPayloads } from './requests.ts'
export type { StandardSchema } from './standard-schema.ts'

/** Connects to a server; `http://`, `https://`, `ws://` and `wss://` are all understood. */
export function connect(url: string, options: ClientOptions = {}): Client {
  return new Client(url, options)
}
