import type { AuditRecord } from '../audit/chain.ts'
import type { Caller, JobId, LeaseId, ProviderId, WorkerId } from '../encoding/ids.ts'
import type { KindName } from '../enqueue/kinds.ts'
import type { LeaseTerms } from '../lease/lease.ts'
import type { LeaseStatus } from '../lease/lease-table.ts'
import type { EndReason, JobNeeds, JobOrigin } from '../market/job.ts'
import type { Refusal } from '../match/eligibility.ts'
import type { JobOptions } from '../options/job-options.ts'
import type { JobStatus } from '../outcome/job-table.ts'
import type { Policy } from '../policy/policy.ts'
import type { Attestation, ClassCooldown } from '../registry/provider.ts'
import type { Standing } from '../registry/standing/standing.ts'
import type { ProviderStatus } from '../registry/standing/status.ts'
import type { SettlementRow } from '../settle/epoch/settlement-row.ts'

/** The facts about a job that never change. */
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
  /** The most tokens that it can use; 0 if it uses none. */
  readonly tokens: number
  readonly regions: readonly string[] | null
  /** Its demands on a provider beside kind, model and payload; null if there are none. */
  readonly needs: JobNeeds | null
  readonly ttlAbsSecs: number | null
  readonly enqueueTs: number
  readonly chainId: bigint
  readonly enqueueHeight: bigint
  readonly txHash: string
  readonly origin: JobOrigin | null
  readonly options: JobOptions | null
}

/** The parts of a job that change. */
export interface JobState {
  readonly status: JobStatus
  /** The provider of the newest lease; null before the first. */
  readonly providerId: ProviderId | null
  readonly attempt: number | null
  readonly retries: number
  readonly declines: number
  /** The number of consecutive acked attempts whose worker was lost (WORKER-16). */
  readonly workerLosses: number
  readonly notBefore: number | null
  readonly firstAssignedAt: number | null
  readonly endedAt: number | null
  readonly reason: EndReason | null
  readonly proofAwaitedSince: number | null
  readonly denials: readonly (readonly [ProviderId, number])[]
  /** When the last job that it waited for ended. */
  readonly releasedAt: number | null
}

export type JobRow = JobFacts & JobState

/** A new job. If the engine made its `tx_hash`, this has the bytes, the form that most stores keep. */
export type NewJobRow = Omit<JobRow, 'txHash'> & { readonly txHash: string | Uint8Array }

/** The facts about a lease that never change. */
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

/** The parts of a lease that change. */
export interface LeaseState extends Pick<LeaseTerms, 'ackTimeoutMs'> {
  readonly status: LeaseStatus
  readonly tDeadline: number
  /** When the attempt has taken as long as its job allows; null without such an end, or before its ack. */
  readonly timeoutAt: number | null
  readonly renewals: number
  readonly isAcked: boolean
  readonly digest: string | null
  /** The worker that it was pushed to; null if no worker serves the provider. */
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
  readonly standing: Standing
  readonly publicKey: string | null
  readonly attestation: Attestation | null
  readonly lastHeartbeat: number
  readonly creditedAt: number | null
  readonly silentSteps: number
  readonly health: number
  readonly failures: number
  readonly cooldownUntil: number | null
  readonly classCooldowns: readonly ClassCooldown[]
  readonly units: readonly (readonly [KindName, number, number])[]
  /** In order of id; null for a provider without workers of its own. */
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
  /** The owner, who may read it after the job is gone; null in rows of older versions. */
  readonly caller: Caller | null
  readonly leaseId: LeaseId
  readonly providerId: ProviderId
  readonly digest: string
  readonly units: number
  readonly at: number
  readonly output: Uint8Array | null
  /** The media type of the output; null if the worker named none. */
  readonly contentType: string | null
  /** The worker's data about its result, as canonical CBOR. */
  readonly meta: Uint8Array | null
  /** The claim of a proved result; null if its kind has no proofs. */
  readonly claim: ResultClaim | null
}

/** The facts of a FINAL claim that its result shows. Amounts are decimal text where they may be large. */
export interface ResultClaim {
  readonly proofType: string
  readonly claimKey: string
  readonly envelopeHash: string
  readonly nullifier: string
  readonly blockHeight: number
  readonly place: number
  readonly txHash: string
  readonly minerId: string
  readonly unitsPpm: string
  readonly p95LatencyMs: string
  readonly availabilityPpm: string
  readonly traps: { readonly shots: string; readonly passed: string } | null
  readonly finalizedHeight: number
}

/**
 * Why an attempt failed, according to its worker or the engine (FAIL-1). It is not part of the state: it
 * influences no decision.
 */
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

/** The number of newest failed attempts whose failures a job keeps (FAIL-3). */
export const FAILURES_KEPT = 10

/** The decisions of one round for one kind, for explanations (EXPLAIN-3). */
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
  /** The providers that are asked first, at most `PROVIDERS_KEPT`: in shuffled order, or by rank under `score`. */
  readonly providers: readonly ProviderId[]
  /** Under `score` the rank of each provider, from 0; equal ones share a rank. Else null. */
  readonly ranks: readonly number[] | null
  /** In the order in which they were made, each with the number of its list of refusals. */
  readonly assignments: readonly (readonly [JobId, ProviderId, number | null])[]
  /** For each demand among the assigned jobs, the providers that refused it by the end, with reasons. */
  readonly refusals: readonly (readonly (readonly [ProviderId, Refusal])[])[]
}

/** The number of rounds that are kept; older ones are deleted. */
export const ROUNDS_KEPT = 1_000

/** The number of providers of a round that are kept for its explanation. */
export const PROVIDERS_KEPT = 20

/**
 * One transition: audit entry, event and timeline entry in one. The store links it to the previous entry
 * (AUDIT-1), so that the chain covers exactly what is stored.
 */
export interface JournalRecord extends AuditRecord {
  /** One more than the number of the previous entry. */
  readonly seq: number
  /** The number of acceptance of the affected job, if there is one. */
  readonly jobSeq: number | null
}

/** The finish time of a caller under fair shares; null deletes it. */
export interface ShareRow {
  readonly kind: KindName
  readonly caller: Caller
  readonly finish: bigint | null
}

/**
 * A piece of state under a key, such as that of a limit, session, dispatch key or token. The lane names its kind.
 * Null deletes it.
 */
export interface KeyedRow {
  readonly lane: string
  readonly key: string
  readonly value: Uint8Array | null
}

/** Counters and settings by name: all other state that influences decisions. */
export type Meta = Readonly<Record<string, string>>

/**
 * All changes of one batch of commands; every row occurs once. Rows are named by what a store can find without a
 * search. A job has its number of acceptance, a lease has that and its attempt.
 */
export interface WriteBatch {
  readonly newJobs: readonly { readonly row: NewJobRow; readonly payload: Uint8Array }[]
  readonly jobs: readonly (JobState & Pick<JobFacts, 'id' | 'seq'>)[]
  readonly newLeases: readonly LeaseRow[]
  readonly leases: readonly (LeaseState & Pick<LeaseFacts, 'id' | 'jobSeq' | 'attempt'>)[]
  readonly providers: readonly ProviderRow[]
  readonly results: readonly ResultRow[]
  /** The failure of attempt n deletes those of the job's attempts up to n − `FAILURES_KEPT`. */
  readonly failures: readonly FailureRow[]
  readonly shares: readonly ShareRow[]
  /** Applied before `lanes`: every piece of these lanes is deleted. */
  readonly clearedLanes: readonly string[]
  readonly lanes: readonly KeyedRow[]
  readonly rounds: readonly RoundRow[]
  readonly settlements: readonly SettlementRow[]
  readonly journal: readonly JournalRecord[]
  /** Only changed values. */
  readonly meta: Meta
  /** Erases all personal data of the registrations that ended in this span, its end excluded (STORE-16). */
  readonly eraseEnded: EndedSpan | null
  /** Deletes jobs that ended before this time, with their leases and failures. Results may stay. */
  readonly pruneEndedBefore: number | null
  /** Deletes results from before this time, once their jobs are deleted; null keeps them for good (STORE-10). */
  readonly pruneResultsBefore: number | null
  /** Deletes these jobs, which have ended, with their leases and failures (STORE-22). */
  readonly prunedJobs: readonly PrunedJobs[]
  /** Deletes journal entries up to this number; at least one entry stays (STORE-15). */
  readonly cutJournalAt: number | null
}

/** A batch without changes. */
export const NO_ROWS: WriteBatch = {
  newJobs: [],
  jobs: [],
  newLeases: [],
  leases: [],
  providers: [],
  results: [],
  failures: [],
  shares: [],
  clearedLanes: [],
  lanes: [],
  rounds: [],
  settlements: [],
  journal: [],
  meta: {},
  eraseEnded: null,
  pruneEndedBefore: null,
  pruneResultsBefore: null,
  prunedJobs: [],
  cutJournalAt: null,
}

/** Jobs by their numbers of acceptance. Their results from before a time go with them; null keeps all results. */
export interface PrunedJobs {
  readonly seqs: readonly number[]
  readonly resultsBefore: number | null
}

export interface EndedSpan {
  readonly from: number
  readonly before: number
}

/** A row of any table, for comparing whole states. */
export type AnyRow = readonly [table: string, row: Readonly<Record<string, unknown>>]
