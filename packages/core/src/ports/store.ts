import type { Assigned } from '../admit/quotas.ts'
import type { AuditEntry, AuditRecord } from '../audit/chain.ts'
import type { Caller, JobId, LeaseId, ProviderId, WorkerId } from '../encoding/ids.ts'
import type { KindName } from '../enqueue/kinds.ts'
import type { LeaseTerms } from '../lease/lease.ts'
import type { LeaseStatus } from '../lease/lease-table.ts'
import type { EndReason, JobNeeds, JobOrigin } from '../market/job.ts'
import type { Refusal } from '../match/eligibility.ts'
import type { JobStatus } from '../outcome/job-table.ts'
import type { Policy } from '../policy/policy.ts'
import type { Attestation, ClassCooldown, ProviderStatus } from '../registry/provider.ts'

/** What never changes about a job. */
export interface JobFacts {
  readonly id: JobId
  /** Number of acceptance. */
  readonly seq: number
  readonly kind: KindName
  readonly caller: Caller
  readonly tier: string
  readonly fee: bigint
  readonly sizeBytes: number
  readonly model: string | null
  readonly shots: number
  readonly depthHint: number
  readonly units: number
  /** The most tokens that it can take; 0 where it takes none. */
  readonly tokens: number
  readonly regions: readonly string[] | null
  /** What it asks of a provider beside kind, model and payload; null where it asks for nothing. */
  readonly needs: JobNeeds | null
  readonly ttlAbsSecs: number | null
  readonly enqueueTs: number
  readonly chainId: bigint
  readonly enqueueHeight: bigint
  readonly txHash: string
  readonly origin: JobOrigin | null
}

/** What becomes of it. */
export interface JobState {
  readonly status: JobStatus
  /** Of the newest lease; null before the first. */
  readonly providerId: ProviderId | null
  readonly attempt: number | null
  readonly retries: number
  readonly declines: number
  /** Acked attempts in a row whose worker was lost (WORKER-16). */
  readonly workerLosses: number
  readonly notBefore: number | null
  readonly firstAssignedAt: number | null
  readonly endedAt: number | null
  readonly reason: EndReason | null
  readonly proofAwaitedSince: number | null
  readonly denials: readonly (readonly [ProviderId, number])[]
}

export type JobRow = JobFacts & JobState

/** A job that is new. A `tx_hash` that the engine made is given as its bytes, which most stores keep it as. */
export type NewJobRow = Omit<JobRow, 'txHash'> & { readonly txHash: string | Uint8Array }

/** What never changes about a lease. */
export interface LeaseFacts extends Omit<LeaseTerms, 'ackTimeoutMs'> {
  readonly id: LeaseId
  readonly jobId: JobId
  /** Number of acceptance of the job. */
  readonly jobSeq: number
  readonly providerId: ProviderId
  readonly attempt: number
  readonly tStart: number
  readonly epoch: number
  /** Height of the round that issued it. */
  readonly round: number
}

/** What becomes of it. */
export interface LeaseState extends Pick<LeaseTerms, 'ackTimeoutMs'> {
  readonly status: LeaseStatus
  readonly tDeadline: number
  readonly renewals: number
  readonly isAcked: boolean
  readonly digest: string | null
  /** The worker that it was pushed to; null where none serves it. */
  readonly workerId: WorkerId | null
}

export type LeaseRow = LeaseFacts & LeaseState

export interface ProviderRow {
  readonly id: ProviderId
  readonly status: ProviderStatus
  readonly capabilities: readonly KindName[]
  readonly models: readonly string[]
  readonly platforms: readonly string[]
  readonly maxDepth: number | null
  readonly maxShots: number | null
  readonly maxWidth: number | null
  readonly gates: readonly string[] | null
  readonly precision: readonly string[] | null
  readonly region: string | null
  readonly allow: readonly Caller[] | null
  readonly deny: readonly Caller[]
  readonly leasesMax: number | null
  readonly stake: bigint
  readonly attestation: Attestation | null
  readonly lastHeartbeat: number
  readonly creditedAt: number | null
  readonly silentSteps: number
  readonly health: number
  readonly failures: number
  readonly cooldownUntil: number | null
  readonly classCooldowns: readonly ClassCooldown[]
  readonly units: readonly (readonly [KindName, number, number])[]
  /** In order of id; null is a provider without workers of its own. */
  readonly workers: readonly WorkerRow[] | null
}

export interface WorkerRow {
  readonly id: WorkerId
  readonly slots: number
  /** Null while it is connected. */
  readonly goneSince: number | null
}

export interface ResultRow {
  readonly jobId: JobId
  readonly jobSeq: number
  /** The owner, who may read it after the job is gone; null where an older version wrote the row. */
  readonly caller: Caller | null
  readonly leaseId: LeaseId
  readonly providerId: ProviderId
  readonly digest: string
  readonly units: number
  readonly at: number
  readonly output: Uint8Array | null
  /** What the bytes of the output are; null where nobody said. */
  readonly contentType: string | null
  /** What the worker said about its result, as canonical CBOR. */
  readonly meta: Uint8Array | null
}

/** Why an attempt failed, as its worker or the engine said it (FAIL-1). No part of the state: it decides nothing. */
export interface FailureRow {
  readonly jobId: JobId
  readonly jobSeq: number
  readonly attempt: number
  readonly at: number
  readonly code: string
  readonly message: string | null
  /** Canonical CBOR. */
  readonly details: Uint8Array | null
}

/** A job keeps the failures of so many of its newest attempts (FAIL-3). */
export const FAILURES_KEPT = 10

/** What one round decided for one kind, so that it can be explained (EXPLAIN-3). */
export interface RoundRow {
  readonly height: number
  readonly kind: KindName
  readonly at: number
  readonly seed: string
  /** SHA3 over the ids of the batch in order. */
  readonly batchDigest: string
  readonly batchSize: number
  /** The policy's `match.order` at the time. */
  readonly order: Policy['match']['order']
  /** Those that are asked first, `PROVIDERS_KEPT` at most: as shuffled, under `score` by rank. */
  readonly providers: readonly ProviderId[]
  /** Under `score` the rank of each of them, from 0; equal ones share one. Else null. */
  readonly ranks: readonly number[] | null
  /** In the order in which they were made, each with the number of its list of refusals. */
  readonly assignments: readonly (readonly [JobId, ProviderId, number | null])[]
  /** For each demand among the assigned jobs: who of the providers refused it by the end, and why. */
  readonly refusals: readonly (readonly (readonly [ProviderId, Refusal])[])[]
}

/** Older rounds are forgotten. */
export const ROUNDS_KEPT = 1_000

/** Providers of a round that are kept for explaining it. */
export const PROVIDERS_KEPT = 20

/**
 * One transition: audit entry, event and line of a timeline in one. The store links it to the entry
 * before (AUDIT-1), so that what is chained is what is stored.
 */
export interface JournalRecord extends AuditRecord {
  /** One more than that of the entry before. */
  readonly seq: number
  /** The job that it is about, by its number of acceptance, if it is about one. */
  readonly jobSeq: number | null
}

/** The finish time of a caller under fair shares; null forgets it. */
export interface ShareRow {
  readonly kind: KindName
  readonly caller: Caller
  readonly finish: bigint | null
}

/**
 * A piece of the state of *admit*: of its limits, sessions and budgets, which limit, dispatch key or session it is
 * about, and what is to be remembered of it. Null forgets it.
 */
export interface KeyedRow {
  readonly lane: string
  readonly key: string
  readonly value: Uint8Array | null
}

/** Counters and settings by name: whatever else decides. */
export type Meta = Readonly<Record<string, string>>

/**
 * All that one batch of commands changed; every row is there once. Rows are named by what a store can
 * find without a search: a job by its number of acceptance, a lease by that and its attempt.
 */
export interface WriteBatch {
  readonly newJobs: readonly { readonly row: NewJobRow; readonly payload: Uint8Array }[]
  readonly jobs: readonly (JobState & Pick<JobFacts, 'id' | 'seq'>)[]
  readonly newLeases: readonly LeaseRow[]
  readonly leases: readonly (LeaseState & Pick<LeaseFacts, 'id' | 'jobSeq' | 'attempt'>)[]
  readonly providers: readonly ProviderRow[]
  readonly results: readonly ResultRow[]
  /** The jobs whose results are those of registrations, by number. It is not stored: it says what to encrypt. */
  readonly personalResults?: ReadonlySet<number>
  /** Of a job the failure of attempt n deletes those of the attempts up to n − `FAILURES_KEPT`. */
  readonly failures: readonly FailureRow[]
  readonly shares: readonly ShareRow[]
  readonly lanes: readonly KeyedRow[]
  readonly rounds: readonly RoundRow[]
  readonly journal: readonly JournalRecord[]
  /** Only what changed. */
  readonly meta: Meta
  /**
   * Of the registrations that ended in this span, its end excluded, nothing that they say of people is
   * left (STORE-16).
   */
  readonly eraseEnded: EndedSpan | null
  /** Ended jobs from before this time are deleted with their leases and failures; results may stay. */
  readonly pruneEndedBefore: number | null
  /** Results from before this time are deleted, once their jobs are; null keeps them for good (STORE-10). */
  readonly pruneResultsBefore: number | null
  /** Entries of the journal up to this number are deleted; at least one stays (STORE-15). */
  readonly cutJournalAt: number | null
}

export interface EndedSpan {
  readonly from: number
  readonly before: number
}

/** What an engine needs to go on exactly where the last commit left off. */
export interface Snapshot {
  /** Jobs that are alive. */
  readonly jobs: readonly JobRow[]
  /** All leases of these jobs, oldest first. */
  readonly leases: readonly LeaseRow[]
  readonly providers: readonly ProviderRow[]
  readonly shares: readonly ShareRow[]
  readonly lanes: readonly (KeyedRow & { readonly value: Uint8Array })[]
  readonly meta: Meta
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
  /** The first digits of the id, 8 to 64 of them behind `0x`. */
  readonly idPrefix?: string
  readonly afterHeight?: bigint
  /** Jobs accepted after this number. */
  readonly afterSeq: number
  /** Given, the newest come first: of those accepted before this number. */
  readonly beforeSeq?: number
  readonly limit: number
}

/** A row of any table, for comparing whole states. */
export type AnyRow = readonly [table: string, row: Readonly<Record<string, unknown>>]

/** Committed state only. */
export interface StoreReads {
  job(id: JobId): Promise<JobRow | null>
  /** The jobs that callers enqueued under these keys before, each with its payload, or null. */
  jobsByTx(
    keys: readonly { readonly caller: Caller; readonly txHash: string }[],
  ): Promise<({ readonly id: JobId; readonly payload: Uint8Array } | null)[]>
  /** The payloads of jobs, by their numbers of acceptance; null for one that is not there. */
  payloads(seqs: readonly number[]): Promise<(Uint8Array | null)[]>
  jobs(filter: JobFilter): Promise<JobRow[]>
  leases(jobId: JobId): Promise<LeaseRow[]>
  /** Of the newest attempts of a job that failed, oldest first. */
  failures(jobId: JobId): Promise<FailureRow[]>
  lease(id: LeaseId): Promise<LeaseRow | null>
  /** It outlives its job; of several jobs of one id, that of the newest. */
  result(jobId: JobId): Promise<ResultRow | null>
  round(height: number, kind: KindName): Promise<RoundRow | null>
  /** Entries after a number that are still there, oldest first. */
  journal(afterSeq: number, limit: number): Promise<AuditEntry[]>
  /** The entries about a job that are still there, oldest first. */
  timeline(jobId: JobId): Promise<AuditEntry[]>
  /** Callers of assignments since a time, for their windows. */
  assignmentsSince(atMs: number): Promise<Assigned[]>
  /** Every row of every table in order of its id. */
  everything(): Promise<AnyRow[]>
}

/** Durable state of one partition. The engine is the only writer. */
export interface Store {
  load(): Promise<Snapshot>
  /**
   * One transaction. Once it resolves the batch survives a power cut; if it rejects, none of it
   * happened. Commits are carried out in the order of the calls. One that was given before the refusal
   * of an earlier one was heard is refused with it: it was built on what did not happen (STORE-2).
   */
  commit(batch: WriteBatch): Promise<void>
  readonly read: StoreReads
  close(): Promise<void>
}
