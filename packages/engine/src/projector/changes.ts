import {
  type FailureRow,
  hasEnded,
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
  RoundRow,
  WriteBatch,
} from '@fairlead/core/internal'
import type { JobRequest } from '../commands/command.ts'
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
  results: ResultRow[] = []
  personalResults = new Set<number>()
  failures: FailureRow[] = []
  rounds: RoundRow[] = []
  meta: Record<string, string> = {}
  eraseEnded: EndedSpan | null = null
  pruneEndedBefore: number | null = null
  pruneResultsBefore: number | null = null
  cutJournalAt: number | null = null

  /** `touched` is called with every change of a session. */
  constructor(touched: () => void) {
    this.sessions = new SessionRows(touched)
  }

  /** Takes all changes, and the jobs that have ended. `lastSeq` is the number of the newest job. */
  take(parts: {
    readonly market: Market
    readonly journal: readonly JournalRecord[]
    readonly lastSeq: number
    readonly tokens: readonly KeyedRow[]
  }): { readonly batch: WriteBatch; readonly ended: readonly Job[] } {
    const { market, journal, lastSeq, tokens } = parts
    const { newJobs, jobs } = this.#jobRows(lastSeq)
    const { newLeases, leases } = this.#leaseRows()
    const providers = []
    for (const provider of this.providers) providers.push(providerRow(provider))
    const batch: WriteBatch = {
      newJobs,
      jobs,
      newLeases,
      leases,
      providers,
      results: this.results,
      ...(this.personalResults.size === 0 ? {} : { personalResults: this.personalResults }),
      failures: this.failures,
      shares: shareRows(market),
      lanes: [...limitRows(market.limits.takeChanges()), ...this.sessions.take(market), ...tokens],
      rounds: this.rounds,
      journal,
      meta: this.meta,
      eraseEnded: this.eraseEnded,
      pruneEndedBefore: this.pruneEndedBefore,
      pruneResultsBefore: this.pruneResultsBefore,
      cutJournalAt: this.cutJournalAt,
    }
    const ended = []
    for (const job of this.jobs) if (hasEnded(job.status)) ended.push(job)
    this.#reset()
    return { batch, ended }
  }

  #jobRows(lastSeq: number): Pick<WriteBatch, 'newJobs' | 'jobs'> {
    const newJobs = []
    const jobs = []
    const firstNew = lastSeq - this.requests.length + 1
    for (const job of this.jobs) {
      if (job.enqueueSeq < firstNew) jobs.push(jobState(job))
      else {
        const request = this.requests[job.enqueueSeq - firstNew] as JobRequest
        newJobs.push({ row: jobRow(job, request), payload: request.payloadCbor })
      }
    }
    return { newJobs, jobs }
  }

  #leaseRows(): Pick<WriteBatch, 'newLeases' | 'leases'> {
    const newLeases = []
    for (const [lease, height] of this.newLeases) newLeases.push(leaseRow(lease, height))
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
    this.personalResults = new Set()
    this.failures = []
    this.rounds = []
    this.meta = {}
    this.eraseEnded = null
    this.pruneEndedBefore = null
    this.pruneResultsBefore = null
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
