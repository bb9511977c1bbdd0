import type { JobId, LeaseId, ProviderId } from '@fairlead/core'
import { broken } from '../../violation.ts'
import {
  type Book,
  endsAt,
  type FailureEntry,
  type JobEntry,
  type LeaseEntry,
  type ProviderEntry,
} from '../book.ts'
import { hasEndedStatus, isLiveStatus } from '../rules/own-rules.ts'
import type { ShareBook } from '../rules/shares.ts'

/** Failures of so many attempts are kept (FAIL-3). */
const FAILURES_KEPT = 10

/** A lease that was cancelled, and how many workers its job had lost in a row before. */
export interface Ended {
  readonly lease: LeaseEntry
  readonly reason: string
  readonly losses: number
}

export interface FailedAttempt {
  readonly job: JobEntry
  readonly attempt: number
  readonly failure: FailureEntry
}

/**
 * Where the reading of the journal stands: the time and actor of the entry, what it may refer to, and
 * what has been touched. The checks that every sort of entry needs are here.
 */
export class Moment {
  readonly book: Book
  readonly shares: ShareBook
  at = 0
  actor = ''
  /** A lease was cancelled; what this means for its job comes next. */
  ended: Ended | null = null
  /** Times at which the policy changed, and what was overdue under it may have happened. */
  readonly floors = new Set<number>()
  /** Attempts that failed in this batch: each has to be stored with its reason. */
  readonly failed: FailedAttempt[] = []
  readonly jobs = new Set<JobEntry>()
  readonly leases = new Set<LeaseEntry>()
  readonly providers = new Set<ProviderEntry>()

  constructor(book: Book, shares: ShareBook) {
    this.book = book
    this.shares = shares
  }

  /** Failures count against a provider (HEALTH-7). */
  get hasHealth(): boolean {
    return this.book.policy.registry.health === 'on'
  }

  forgetTouched(): void {
    this.failed.length = 0
    this.jobs.clear()
    this.leases.clear()
    this.providers.clear()
  }

  job(id: unknown): JobEntry {
    const job = this.book.jobs.get(id as JobId)
    if (job === undefined) broken('journal', `job ${String(id)} was never accepted`)
    if (hasEndedStatus(job.status))
      broken('final-state', `job ${String(id)} is ${job.status} and moves`)
    this.jobs.add(job)
    return job
  }

  liveLease(id: unknown): LeaseEntry {
    const lease = this.book.leases.get(id as LeaseId)
    if (lease === undefined) broken('journal', `lease ${String(id)} was never issued`)
    if (!isLiveStatus(lease.status))
      broken('final-state', `lease ${String(id)} is ${lease.status} and moves`)
    this.leases.add(lease)
    return lease
  }

  provider(id: unknown): ProviderEntry {
    const provider = this.book.providers.get(id as ProviderId)
    if (provider === undefined) broken('journal', `${String(id)} is not stored`)
    this.providers.add(provider)
    return provider
  }

  endLease(lease: LeaseEntry, status: 'COMPLETED' | 'CANCELLED' | 'EXPIRED', units: number): void {
    const { policy } = this.book
    this.book.endLease(lease, status, units)
    const { facts } = lease.job
    const isShared = policy.match.fairness === 'tenant' && facts.kind !== 'registration'
    if (isShared) this.shares.bookActualUnits(facts, units, policy)
    this.jobs.add(lease.job)
    this.leases.add(lease)
    this.providers.add(lease.provider)
  }

  /** An attempt has failed: why is kept, for the newest attempts of its job (FAIL-1, FAIL-3). */
  failAttempt({ job, attempt }: LeaseEntry, how: Omit<FailureEntry, 'at'>): void {
    const failure = { ...how, at: this.at }
    this.failed.push({ job, attempt, failure })
    job.failures.set(attempt, failure)
    for (const old of job.failures.keys()) {
      if (old <= attempt - FAILURES_KEPT) job.failures.delete(old)
    }
  }

  /** A holder's call counts before its deadline only, and before the ack timeout if unacked. */
  refuseLate(lease: LeaseEntry): void {
    const { id, acked, ackBy } = lease
    const until = acked ? endsAt(lease) : Math.min(endsAt(lease), ackBy)
    if (this.at < until) return
    broken('deadline', `a call on lease ${id} was taken ${this.at - until} ms after its time`)
  }

  refuseOffTime(due: number, what: string): void {
    const { at } = this
    if (at === due || (at > due && this.floors.has(at))) return
    broken('deadline', `${what} was due at ${due} and happened at ${at}`)
  }
}
