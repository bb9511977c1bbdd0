import type { Assigned } from '../admit/quotas.ts'
import type { AuditEntry } from '../audit/chain.ts'
import type { Caller, JobId, LeaseId, ProviderId } from '../encoding/ids.ts'
import type { KindName } from '../enqueue/kinds.ts'
import type { JobStatus } from '../outcome/job-table.ts'
import type { SettlementHead, SettlementPart } from '../settle/epoch/settlement-row.ts'
import type {
  AnyRow,
  FailureRow,
  JobRow,
  KeyedRow,
  LeaseRow,
  Meta,
  ProviderRow,
  ResultRow,
  RoundRow,
  ShareRow,
  WriteBatch,
} from './rows.ts'

/** The state that an engine needs to continue exactly after a batch of commands. */
export interface Snapshot {
  /** The number of the last batch of the log that the rows reflect; 0 before the first. */
  readonly batch: number
  /** Live jobs. */
  readonly jobs: readonly JobRow[]
  /** All leases of these jobs, oldest first. */
  readonly leases: readonly LeaseRow[]
  readonly providers: readonly ProviderRow[]
  readonly shares: readonly ShareRow[]
  readonly lanes: readonly (KeyedRow & { readonly value: Uint8Array })[]
  readonly meta: Meta
  /** The lines that the newest settlement left due; see `SettlementRow`. */
  readonly due: Uint8Array
  /** The number of the newest entry of the journal; 0 before the first. */
  readonly lastEntry: number
}

export interface JobFilter {
  readonly status?: JobStatus
  readonly providerId?: ProviderId
  readonly caller?: Caller
  readonly kind?: KindName
  /** The model of an ai job, the name of a task, the platform of a registration. */
  readonly model?: string
  /** The first digits of the id: `0x` and 8 to 64 digits. */
  readonly idPrefix?: string
  readonly afterHeight?: bigint
  readonly tag?: string
  readonly dedupeKey?: string
  /** The id of the schedule that enqueued it. */
  readonly schedule?: string
  /** The hash of an idempotency key, or of a transaction. */
  readonly txHash?: string
  /** The code of the last failed attempt. */
  readonly error?: string
  /** Enqueued at this time or later. */
  readonly since?: number
  /** Enqueued before this time. */
  readonly until?: number
  /** Jobs accepted after this number. */
  readonly afterSeq: number
  /** If given, the newest jobs come first, starting before this number. */
  readonly beforeSeq?: number
  /** If given, only jobs that have ended, in the order of their ends and numbers. Not with `beforeSeq` or `idPrefix`. */
  readonly ended?: EndedRange
  readonly limit: number
}

/** The jobs that ended before a time and come after a place in the order of ends and numbers. */
export interface EndedRange {
  readonly after: { readonly at: number; readonly seq: number }
  readonly before: number
}

/** Reads see every row that was applied, and never write. A damaged page is an error, never a missing row. */
export interface StoreReads {
  job(id: JobId): Promise<JobRow | null>
  /** The jobs that callers enqueued earlier under these keys, each with its payload, or null. */
  jobsByTx(
    keys: readonly { readonly caller: Caller; readonly txHash: string }[],
  ): Promise<({ readonly id: JobId; readonly payload: Uint8Array } | null)[]>
  /** The payloads of jobs by their numbers of acceptance; null for a job that does not exist. */
  payloads(seqs: readonly number[]): Promise<(Uint8Array | null)[]>
  jobs(filter: JobFilter): Promise<JobRow[]>
  leases(jobId: JobId): Promise<LeaseRow[]>
  /** The failures of the newest failed attempts of a job, oldest first. */
  failures(jobId: JobId): Promise<FailureRow[]>
  lease(id: LeaseId): Promise<LeaseRow | null>
  /** A result outlives its job. If several jobs had one id, this is the newest result. */
  result(jobId: JobId): Promise<ResultRow | null>
  round(height: number, kind: KindName): Promise<RoundRow | null>
  /** Settled epochs before one, the newest first. */
  settlements(beforeEpoch: number, limit: number): Promise<SettlementHead[]>
  /** All lines of a settled epoch, by provider and part. */
  settlementParts(epochId: number): Promise<SettlementPart[]>
  /** The entries after a number that were not deleted, oldest first. */
  journal(afterSeq: number, limit: number): Promise<AuditEntry[]>
  /** The entries about a job that were not deleted, oldest first. */
  timeline(jobId: JobId): Promise<AuditEntry[]>
  /** The assignments since a time, for the windows of their callers. */
  assignmentsSince(atMs: number): Promise<Assigned[]>
  /** Every row of every table, in order of its id. */
  everything(): Promise<AnyRow[]>
}

/** Prints of the keys of some jobs. */
export interface KeyPrints {
  /** The first four bytes of a caller's id and of its key's hash as integers, mixed by XOR. */
  readonly prints: Uint32Array
  /** The number of the last of these jobs; null if there are no more. */
  readonly lastSeq: number | null
}

/**
 * The state as tables: a projection of the log. They reflect its batches up to one number exactly, and reach the
 * disk some time after the log. The log keeps every batch after the last one that is durable here.
 */
export interface Tables {
  readonly read: StoreReads
  load(): Promise<Snapshot>
  /**
   * The keys of the next jobs after a number of acceptance, for a filter. Keys that the engine drew may be left out:
   * no caller can know them.
   */
  keyPrints(afterSeq: number, limit: number): Promise<KeyPrints>
  /**
   * Applies the rows that the batches up to `batch` changed. Reads see them at once, and they become durable later,
   * together. Resolves with the number of the newest batch that is durable. If it rejects, nothing happened, and
   * the same rows may be given again. Calls are carried out in order.
   */
  apply(rows: WriteBatch, batch: number): Promise<number>
  /** Makes everything that was applied durable. Resolves with the number of its last batch. */
  sync(): Promise<number>
  /**
   * Makes what was deleted unreadable on the disk too: in free pages and in logs of the tables (AUDIT-10). Resolves
   * with the durable batch, or null if no personal data was erased since the last call.
   */
  scrub(): Promise<number | null>
  close(): Promise<void>
}
