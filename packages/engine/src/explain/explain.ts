import {
  type AuditEntry,
  type FailureRow,
  hasEnded,
  isLive,
  type JobRow,
  type LeaseRow,
  type ProviderId,
  pairHash,
  type Refusal,
  type Seed,
  type WaitExplanation,
} from '@fairlead/core'
import {
  type CancelReason,
  invariant,
  isTimedOut,
  PROVIDERS_KEPT,
  type RoundRow,
} from '@fairlead/core/internal'

/** The attempts of a job so far. */
interface Attempts {
  /** The newest attempts, oldest first. */
  readonly attempts: readonly AttemptExplanation[]
  /** How many earlier attempts are left out. */
  readonly attemptsBefore: number
}

/** Why a job waits, with the job as it is stored (EXPLAIN-2). */
export interface WaitingExplanation extends Omit<WaitExplanation, 'job'>, Attempts {
  readonly job: JobRow
}

/** The history of a job that is assigned or has ended (EXPLAIN-4). */
export interface AssignedExplanation extends Attempts {
  readonly job: JobRow
  readonly at: number
  /** `proof` if a completed attempt still lacks its proof, which is all that is missing. */
  readonly waitReason: 'proof' | null
  /** Null while the job is alive. */
  readonly end: JobEnd | null
}

export type Explanation = WaitingExplanation | AssignedExplanation

export interface AttemptExplanation {
  readonly lease: LeaseRow
  /** The round that issued the lease, while it is kept; null for a job that waits again. */
  readonly round: RoundExplanation | null
  /** How the attempt ended early, as far as the store still has it. */
  readonly ended: AttemptEnd | null
}

/** Why an attempt ended early (EXPLAIN-10). */
export interface AttemptEnd {
  /** The reason or party that ended it; null if its journal entry was deleted. */
  readonly reason: CancelReason | 'deadline' | 'timeout' | null
  /** Only for an attempt that failed. */
  readonly code: string | null
  readonly message: string | null
  /** Canonical CBOR. */
  readonly details: Uint8Array | null
}

/** How a round chose the provider of one job (EXPLAIN-5). */
export interface RoundExplanation
  extends Pick<RoundRow, 'height' | 'at' | 'seed' | 'batchDigest' | 'batchSize' | 'order'> {
  /** The first providers in the order of the round, `PROVIDERS_KEPT` at most. */
  readonly providers: readonly ProviderId[]
  /** The position at which the provider was asked for this job, from 1; null if that is not kept. */
  readonly place: number | null
  /** The providers asked before it, in that order. A refusal is null if it is not kept. */
  readonly passedOver: readonly PassedOver[]
}

export interface PassedOver {
  readonly providerId: ProviderId
  readonly refusal: Refusal | null
}

export interface JobEnd extends Pick<JobRow, 'status' | 'reason'> {
  readonly endedAt: number | null
  /** The digest of its result, if it has one. */
  readonly digest: string | null
}

/** At most this many attempts are explained, because a job may be given back any number of times. */
export const ATTEMPTS_EXPLAINED = 20

/** Explains a job from its rows, with the stored rounds that issued its newest attempts. */
export function explainAssigned(
  given: { readonly job: JobRow; readonly at: number } & Tried,
): AssignedExplanation {
  const { job, leases, at } = given
  return {
    job,
    at,
    waitReason: job.proofAwaitedSince === null ? null : 'proof',
    ...explainAttempts(given),
    end: hasEnded(job.status) ? endOf(job, leases.at(-1)) : null,
  }
}

/** The stored rows about the attempts of a job. */
interface Tried {
  /** Oldest first. */
  readonly leases: readonly LeaseRow[]
  readonly rounds: readonly (RoundRow | null)[]
  readonly failures: readonly FailureRow[]
  /** The journal entries about the job that were not deleted. */
  readonly timeline: readonly AuditEntry[]
}

export function explainAttempts({ leases, rounds, failures, timeline }: Tried): Attempts {
  const explained = leases.slice(-ATTEMPTS_EXPLAINED)
  const byHeight = new Map(rounds.map((round) => [round?.height, round]))
  return {
    attempts: explained.map((lease) => {
      const round = byHeight.get(lease.round) ?? null
      return {
        lease,
        round: round === null ? null : explainRound(round, lease),
        ended: attemptEnd(lease, failures, timeline),
      }
    }),
    attemptsBefore: leases.length - explained.length,
  }
}

/** How an attempt ended early, from its journal entry and its failure report. */
function attemptEnd(
  lease: LeaseRow,
  failures: readonly FailureRow[],
  timeline: readonly AuditEntry[],
): AttemptEnd | null {
  const { id, attempt, status } = lease
  if (isLive(status) || status === 'COMPLETED') return null
  const entry = timeline.find(
    ({ action, subject }) => action === 'leaseCancelled' && subject === id,
  )
  const cancelled = entry?.details['reason'] as CancelReason | undefined
  const failure = failures.find((one) => one.attempt === attempt)
  return {
    reason: status === 'EXPIRED' ? endOfTime(lease) : (cancelled ?? null),
    code: failure?.code ?? null,
    message: failure?.message ?? null,
    details: failure?.details ?? null,
  }
}

function endOfTime(lease: LeaseRow): 'deadline' | 'timeout' {
  return isTimedOut(lease) ? 'timeout' : 'deadline'
}

function endOf({ status, reason, endedAt }: JobRow, newest: LeaseRow | undefined): JobEnd {
  const digest = status === 'COMPLETED' ? (newest?.digest ?? null) : null
  return { status, reason, endedAt, digest }
}

function explainRound(round: RoundRow, { jobId, providerId }: LeaseRow): RoundExplanation {
  const { height, at, seed, batchDigest, batchSize, order, providers } = round
  const index = round.assignments.findIndex(([id]) => id === jobId)
  invariant(index >= 0, 'a round has the jobs whose leases it issued')
  const { before, isExact } = ORDERS[order](round, index, providerId)
  const refusals = new Map(round.refusals[round.assignments[index]?.[2] ?? -1])
  return {
    height,
    at,
    seed,
    batchDigest,
    batchSize,
    order,
    providers,
    place: isExact ? before.length + 1 : null,
    passedOver: before.map((id) => ({ providerId: id, refusal: refusals.get(id) ?? null })),
  }
}

/** The providers asked for a job before the one that took it; exact if there were no others. */
interface Asked {
  readonly before: readonly ProviderId[]
  readonly isExact: boolean
}

/** How each `match.order` asks providers. Job numbers in an engine are unique, so there are no ties. */
const ORDERS: {
  readonly [O in RoundRow['order']]: (round: RoundRow, index: number, chosen: ProviderId) => Asked
} = {
  'first-fit': ({ providers }, _, chosen) => {
    const providerIndex = providers.indexOf(chosen)
    if (providerIndex < 0) return { before: providers, isExact: false }
    return { before: providers.slice(0, providerIndex), isExact: true }
  },

  rotate: ({ providers, assignments }, index, chosen) => {
    const providerIndex = providers.indexOf(chosen)
    const last = assignments[index - 1]?.[1]
    const lastProviderIndex = last === undefined ? -1 : providers.indexOf(last)
    // The search began after a provider that is not kept. It certainly wrapped around only if it ended at a kept one.
    if (last !== undefined && lastProviderIndex < 0) {
      return { before: providerIndex < 0 ? [] : providers.slice(0, providerIndex), isExact: false }
    }
    const behind = providers.slice(lastProviderIndex + 1)
    if (providerIndex < 0) return { before: behind, isExact: false }
    if (providerIndex > lastProviderIndex)
      return { before: behind.slice(0, providerIndex - lastProviderIndex - 1), isExact: true }
    const before = [...behind, ...providers.slice(0, providerIndex)]
    return { before, isExact: providers.length < PROVIDERS_KEPT }
  },

  score: ({ providers, ranks, assignments, seed }, index, chosen) => {
    const jobId = assignments[index]?.[0]
    if (ranks === null || jobId === undefined) return { before: [], isExact: false }
    const hash = (id: ProviderId) => pairHash(jobId, id, seed as Seed)
    const providerIndex = providers.indexOf(chosen)
    const last = ranks.at(-1) ?? 0
    // A provider that is not kept ranks no higher than the last one that is.
    const rank = ranks[providerIndex] ?? last
    const before = providers
      .map((id, i) => ({ id, rank: ranks[i] ?? last, hash: hash(id) }))
      .filter((one) => one.rank < rank || (one.rank === rank && one.hash < hash(chosen)))
      .sort((a, b) => a.rank - b.rank || (a.hash < b.hash ? -1 : 1))
    const isExact = providerIndex >= 0 && (rank < last || providers.length < PROVIDERS_KEPT)
    return { before: before.map(({ id }) => id), isExact }
  },
}
