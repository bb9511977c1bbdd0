import type {
  Caller,
  JobId,
  JobRow,
  JobStatus,
  KindName,
  LeaseId,
  LeaseStatus,
  Policy,
  ProviderId,
  ProviderStatus,
  WorkerId,
} from '@fairlead/core'
import type { ProviderRow } from '@fairlead/core/internal'
import type { FailureWords } from '../actors/failure-words.ts'
import { broken } from '../violation.ts'
import { FundBook } from './fund/fund-book.ts'
import type { Proving } from './fund/proving.ts'
import { BulkBook } from './rules/bulk-book.ts'
import type { Given, SimLimit } from './rules/limit-spans.ts'
import { ttlAbsAt } from './rules/own-rules.ts'
import { PausedQueues } from './rules/paused.ts'
import { ScheduleBook } from './rules/schedule-book.ts'
import { SessionBook } from './sessions/session-book.ts'

/** A job as the journal tells it. */
export interface JobEntry {
  /** As it was accepted; of its state only the facts count. */
  readonly facts: JobRow
  /** Equal for jobs that nothing but their place in the order tells apart, denials excepted. */
  readonly classKey: string
  status: JobStatus
  attempt: number | null
  retries: number
  declines: number
  /** Acked attempts in a row whose worker was lost. */
  workerLosses: number
  /** Failures that must be stored, by attempt. */
  readonly failures: Map<number, FailureEntry>
  notBefore: number | null
  /** Jobs that it waits for, and when the last of the others ended. */
  readonly waitsFor: Set<JobEntry>
  releasedAt: number | null
  /** A dependency that did not complete, or was never there: it may not run. */
  isBroken: boolean
  /** A dependency ended so long ago that it may be deleted by now: then it counts as one that was never there. */
  isDoubtful: boolean
  firstAssignedAt: number | null
  endedAt: number | null
  reason: string | null
  readonly denials: Map<ProviderId, number>
  /** The live lease. */
  lease: LeaseEntry | null
  /** Its lease is completed, and has to be proved. */
  proving: Proving | null
  /** That did not come to a proof, and the journal has to tell so. */
  charged: Proving | null
  /** A life that ended meanwhile is over from then on. */
  provedUntil: number
  lastProvider: ProviderId | null
}

/** Why an attempt failed, as it must be stored; a message of the engine's own is any text. */
export interface FailureEntry {
  readonly at: number
  readonly code: string
  readonly words: FailureWords | 'engine' | 'none'
}

export interface LeaseEntry {
  readonly id: LeaseId
  readonly job: JobEntry
  readonly provider: ProviderEntry
  readonly attempt: number
  readonly tStart: number
  readonly epoch: number
  readonly round: number
  readonly lengthMs: number
  readonly beta: number
  /** The worker that it was pushed to. */
  workerId: WorkerId | null
  readonly renewalsMax: number | null
  /** When it is cancelled without an ack, and when it expires: both move by the engine's downtime. */
  ackBy: number
  deadline: number
  /** When its attempt has taken as long as its job allows. */
  timeoutAt: number
  /** The part of its time for which the engine was away. */
  gaps: number
  renewals: number
  acked: boolean
  status: LeaseStatus
  digest: string | null
}

export interface ProviderEntry {
  readonly id: ProviderId
  /** As stored last: its offer, stake, health and last heartbeat are taken from there. */
  row: ProviderRow
  status: ProviderStatus
  readonly live: Set<LeaseEntry>
  readonly units: Map<string, number>
  failures: number
  cooldownUntil: number | null
  /** By a slash, or by an operator and for good. */
  jailedUntil: number | null
  readonly classCooldowns: Map<string, number>
  /** Those that are connected, and those that left and may come back for a lease. */
  readonly workers: Map<WorkerId, WorkerEntry>
}

export interface WorkerEntry {
  readonly id: WorkerId
  /** Null while it is connected. */
  goneSince: number | null
}

/** All that has happened, kept apart from the engine: what callers and workers can rely on. */
export class Book {
  policy: Policy
  readonly jobs = new Map<JobId, JobEntry>()
  readonly alive = new Set<JobEntry>()
  readonly leases = new Map<LeaseId, LeaseEntry>()
  readonly live = new Set<LeaseEntry>()
  readonly providers = new Map<ProviderId, ProviderEntry>()
  readonly assignedAt = new Map<Caller, number[]>()
  /** Assignments of each kind so far. */
  readonly grants = new Map<KindName, number>()
  rounds = 0
  accepted = 0

  /** What the scenario limits, and what was given of each by key. */
  readonly limits: readonly SimLimit[]
  readonly given = new Map<string, Given[]>()
  readonly paused = new PausedQueues()
  readonly schedules = new ScheduleBook()
  readonly bulk = new BulkBook()
  /** The registrations, and all that belongs to their sessions. */
  readonly sessions: SessionBook
  /** Where work has to be proved, and is paid. */
  readonly fund: FundBook | null
  /** Leases that were completed by this command, and have to be proved. */
  readonly awaited: { readonly lease: LeaseEntry; readonly units: number }[] = []

  readonly #mustSucceed: (job: JobRow) => boolean

  constructor(
    policy: Policy,
    world: {
      readonly limits: readonly SimLimit[]
      readonly mustSucceed: (job: JobRow) => boolean
      readonly hasProofs: boolean
    },
  ) {
    this.policy = policy
    this.limits = world.limits
    this.#mustSucceed = world.mustSucceed
    this.sessions = new SessionBook(this)
    this.fund = world.hasProofs ? new FundBook(this) : null
  }

  /** When the absolute life of a job is over (TTL-1). */
  lifeEndsAt(job: JobEntry): number {
    const opens = this.sessions.of(job)?.scheduledTime
    // Who joins a session that opened long ago may be late for more than its opening.
    if (job.waitsFor.size > 0) return Number.POSITIVE_INFINITY
    const from = readyTs(job)
    return Math.max(from, ttlAbsAt({ ...job.facts, enqueueTs: from }, this.policy, opens))
  }

  /** Ready jobs of a kind at a time, without those that are paused. */
  ready(kind: KindName, atMs: number): JobEntry[] {
    const found: JobEntry[] = []
    for (const job of this.alive) {
      if (job.facts.kind !== kind || !isReady(job, atMs)) continue
      if (!this.paused.holds(job.facts)) found.push(job)
    }
    return found
  }

  endLease(
    lease: LeaseEntry,
    status: Exclude<LeaseStatus, 'ACTIVE' | 'RENEWED'>,
    units: number,
  ): void {
    const { job, provider } = lease
    lease.status = status
    job.lease = null
    // An attempt under way that ends in another way ends the run of losses; a loss counts on from it.
    if (lease.acked) job.workerLosses = 0
    this.live.delete(lease)
    provider.live.delete(lease)
    addUnits(provider, job.facts.kind, lease.epoch, units - job.facts.units)
  }

  endJob(job: JobEntry, status: JobStatus, reason: string | null, atMs: number): void {
    if (status !== 'COMPLETED' && this.#mustSucceed(job.facts)) {
      broken('fails-alone', `job ${job.facts.id} would succeed, and is ${status} (${reason})`)
    }
    job.status = status
    job.reason = reason
    job.endedAt = atMs
    job.notBefore = null
    job.denials.clear()
    this.alive.delete(job)
    for (const other of this.alive) tell(other, job)
    if (job.proving !== null) this.fund?.provings.end(job)
    this.sessions.end(job, status, reason)
  }
}

/** Its worker has left. */
export function isGone({ provider, workerId }: LeaseEntry): boolean {
  return workerId !== null && (provider.workers.get(workerId)?.goneSince ?? null) !== null
}

/** When a lease whose worker has left is given back (WORKER-4); never while that is there. */
export function lostAt({ provider, workerId, job }: LeaseEntry, { queue }: Policy): number {
  const goneSince = workerId === null ? null : (provider.workers.get(workerId)?.goneSince ?? null)
  if (goneSince === null) return Number.POSITIVE_INFINITY
  const isSession = job.facts.kind === 'registration'
  return goneSince + (isSession ? queue.workerLostRegistrationMs : queue.workerLostMs)
}

/** Live leases of one worker. */
export function leasesOf({ live }: ProviderEntry, workerId: WorkerId): LeaseEntry[] {
  return [...live].filter((lease) => lease.workerId === workerId)
}

/** Leases that a connected worker takes at once, as stored last. */
export function slotsOf({ row }: ProviderEntry, workerId: WorkerId): number {
  return row.workers?.find(({ id }) => id === workerId)?.slots ?? 0
}

export function isReady(job: JobEntry, atMs: number): boolean {
  const { status, notBefore, waitsFor, isBroken, facts } = job
  if (status !== 'QUEUED' || waitsFor.size > 0 || isBroken) return false
  return Math.max(notBefore ?? 0, facts.options?.runAt ?? 0) <= atMs
}

/** From when a job counts as waiting (OPTIONS-2). */
export function readyTs({ facts, releasedAt }: JobEntry): number {
  return Math.max(facts.enqueueTs, facts.options?.runAt ?? 0, releasedAt ?? 0)
}

/** A job has ended that another may wait for (OPTIONS-8). */
function tell(job: JobEntry, ended: JobEntry): void {
  if (!job.waitsFor.delete(ended)) return
  const mayGoOn = ended.status === 'COMPLETED' || job.facts.options?.onDependency === 'run'
  if (!mayGoOn) job.isBroken = true
  if (job.waitsFor.size === 0 && !job.isBroken) job.releasedAt = ended.endedAt
}

/** When a live lease ends by itself. */
export function endsAt({ deadline, timeoutAt }: LeaseEntry): number {
  return Math.min(deadline, timeoutAt)
}

export function classOf({ kind, model }: JobRow): string {
  return `${kind}|${model ?? ''}`
}

export function unitsKey(kind: KindName, epoch: number): string {
  return `${kind}@${epoch}`
}

export function addUnits(provider: ProviderEntry, kind: KindName, epoch: number, by: number): void {
  const key = unitsKey(kind, epoch)
  const total = (provider.units.get(key) ?? 0) + by
  if (total === 0) provider.units.delete(key)
  else provider.units.set(key, total)
}
