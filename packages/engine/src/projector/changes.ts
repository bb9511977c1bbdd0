import {
  type FailureRow,
  type Job,
  KIND_NAMES,
  type Lease,
  type Market,
  type Provider,
  type ResultRow,
} from '@fairlead/core'
import type {
  EndedSpan,
  JournalRecord,
  KeyedRow,
  PrunedJobs,
  RoundRow,
  SettlementRow,
  WriteBatch,
} from '@fairlead/core/internal'
import type { JobRequest } from '../commands/command.ts'
import { dependencyRows } from './dependency-rows.ts'
import { fundRows } from './fund-rows.ts'
import { LaneRows } from './lane-rows.ts'
import { limitRows } from './limit-rows.ts'
import { jobRow, jobState, leaseRow, leaseState, providerRow } from './rows.ts'
import { SessionRows } from './session-rows.ts'

/** Collects the changes since the last batch and turns them into rows. */
export class Changes {
  /** The requests of the new jobs, which have the latest numbers of acceptance, in order. */
  requests: JobRequest[] = []
  jobs = new Set<Job>()
  leases = new Set<Lease>()
  /** The new leases, with the height of their round. */
  newLeases = new Map<Lease, number>()
  providers = new Set<Provider>()
  readonly sessions: SessionRows
  /** The state that lanes keep beside limits, sessions and tokens. */
  readonly lanes = new LaneRows()
  results: ResultRow[] = []
  failures: FailureRow[] = []
  rounds: RoundRow[] = []
  settlements: SettlementRow[] = []
  journal: JournalRecord[] = []
  meta: Record<string, string> = {}
  eraseEnded: EndedSpan | null = null
  pruneEndedBefore: number | null = null
  pruneResultsBefore: number | null = null
  prunedJobs: PrunedJobs[] = []
  cutJournalAt: number | null = null

  /** `touched` is called with every change of a session. */
  constructor(touched: () => void) {
    this.sessions = new SessionRows(touched)
  }

  /** A measure of the work that `take` would do. */
  get size(): number {
    return this.jobs.size + this.leases.size + this.results.length + this.journal.length
  }

  /** Takes all changes. `lastSeq` is the number of the newest job. */
  take(parts: {
    readonly market: Market
    readonly journal: readonly JournalRecord[]
    readonly lastSeq: number
    /** Tokens and held results. */
    readonly keyed: readonly KeyedRow[]
  }): WriteBatch {
    const { market, journal, lastSeq, keyed } = parts
    const fund = fundRows(market.fund)
    const { newJobs, jobs, gone } = this.#jobRows(lastSeq)
    const { newLeases, leases } = this.#leaseRows(gone)
    const providers = []
    for (const provider of this.providers) providers.push(providerRow(provider))
    const batch: WriteBatch = {
      newJobs,
      jobs,
      newLeases,
      leases,
      providers,
      results: this.results.filter(({ jobSeq }) => !gone.has(jobSeq)),
      failures: this.failures.filter(({ jobSeq }) => !gone.has(jobSeq)),
      shares: shareRows(market),
      clearedLanes: fund.clearedLanes,
      lanes: [
        ...limitRows(market.limits.takeChanges()),
        ...this.sessions.take(market),
        ...dependencyRows(market.dependencies.takeChanges()),
        ...fund.rows,
        ...keyed,
        ...this.lanes.take(),
      ],
      rounds: this.rounds,
      settlements: this.settlements,
      journal: this.journal.length === 0 ? journal : [...this.journal, ...journal],
      meta: this.meta,
      eraseEnded: this.eraseEnded,
      pruneEndedBefore: this.pruneEndedBefore,
      pruneResultsBefore: this.pruneResultsBefore,
      prunedJobs: this.prunedJobs,
      cutJournalAt: this.cutJournalAt,
    }
    this.#reset()
    return batch
  }

  /**
   * A job that was accepted, ended and pruned since the last call is left out with all that goes with it. The next
   * job under its key may be in the same batch. A result that outlives its job needs its row for a moment.
   */
  #jobRows(
    lastSeq: number,
  ): Pick<WriteBatch, 'newJobs' | 'jobs'> & { readonly gone: ReadonlySet<number> } {
    const newJobs = []
    const jobs = []
    const gone = new Set<number>()
    const firstNew = lastSeq - this.requests.length + 1
    const keptFrom = this.pruneEndedBefore ?? Number.NEGATIVE_INFINITY
    const withResult = this.#jobsWithResults()
    for (const job of this.jobs) {
      if (job.enqueueSeq < firstNew) jobs.push(jobState(job))
      else if (job.endedAt !== null && job.endedAt < keptFrom && !withResult.has(job.enqueueSeq)) {
        gone.add(job.enqueueSeq)
      } else {
        const request = this.requests[job.enqueueSeq - firstNew] as JobRequest
        newJobs.push({ row: jobRow(job, request), payload: request.payloadCbor })
      }
    }
    return { newJobs, jobs, gone }
  }

  /** The numbers of jobs whose results are not pruned. */
  #jobsWithResults(): ReadonlySet<number> {
    const keptFrom = this.pruneResultsBefore ?? Number.NEGATIVE_INFINITY
    return new Set(this.results.filter(({ at }) => at >= keptFrom).map(({ jobSeq }) => jobSeq))
  }

  #leaseRows(gone: ReadonlySet<number>): Pick<WriteBatch, 'newLeases' | 'leases'> {
    const newLeases = []
    for (const [lease, height] of this.newLeases) {
      if (!gone.has(lease.job.enqueueSeq)) newLeases.push(leaseRow(lease, height))
    }
    const leases = []
    for (const lease of this.leases) if (!this.newLeases.has(lease)) leases.push(leaseState(lease))
    return { newLeases, leases }
  }

  #reset(): void {
    this.requests = []
    // Replaced rather than cleared: a set that is cleared again and again keeps old entries alive (see `TransitMap`).
    this.jobs = new Set()
    this.leases = new Set()
    this.newLeases = new Map()
    this.providers = new Set()
    this.results = []
    this.failures = []
    this.rounds = []
    this.settlements = []
    this.journal = []
    this.meta = {}
    this.eraseEnded = null
    this.pruneEndedBefore = null
    this.pruneResultsBefore = null
    this.prunedJobs = []
    this.cutJournalAt = null
  }
}

function shareRows({ queues }: Market): WriteBatch['shares'] {
  const shares = []
  for (const kind of KIND_NAMES) {
    for (const [caller, finish] of queues.get(kind)?.takeShareChanges() ?? []) {
      shares.push({ kind, caller, finish })
    }
  }
  return shares
}
