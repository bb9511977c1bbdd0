import type { JobId, JobRow, LeaseId, LeaseRow, ResultRow } from '@fairlead/core'
import type { JournalRecord, RoundRow } from '@fairlead/core/internal'
import type { JobEnd } from '../../actors/booking-sites.ts'
import type { FailureWords } from '../../actors/failure-words.ts'
import { broken } from '../../violation.ts'
import type { ProviderEntry } from '../book.ts'
import type { Said } from '../rules/own-attempts.ts'
import type { FairBound } from '../rules/shares.ts'
import { Assignments } from './assignments.ts'
import {
  epochSettled,
  proofAccepted,
  proofDropped,
  providerSlashed,
  slashWarning,
} from './fund-entries.ts'
import { JobEntries } from './job-entries.ts'
import { awaitProof, jobStarted, leaseCancelled, leaseRenewed } from './lease-entries.ts'
import type { Moment } from './moment.ts'
import { leaseMoved, workerConnected, workerLeft } from './worker-entries.ts'

/** What comes with the journal of one batch. */
export interface BatchFacts {
  readonly newJobs: ReadonlyMap<JobId, JobRow>
  readonly payloads: ReadonlyMap<JobId, Uint8Array>
  readonly results: ReadonlyMap<JobId, ResultRow>
  readonly rounds: readonly RoundRow[]
  readonly leases: ReadonlyMap<LeaseId, LeaseRow>
}

/** What the journal does not tell. */
export interface Hearsay {
  /** The holder failed the lease for good, and it was the job's own fault (HEALTH-5). */
  isJobsFault(leaseId: LeaseId): boolean
  /** The words for a lease on any other job, if it is failed. */
  failure(leaseId: LeaseId): FailureWords
  /** What the holder of a registration says of its attempt, whenever it is asked. */
  said(leaseId: LeaseId): Said | null
  /** A registration has ended: was that true? */
  checkEnd(end: JobEnd): void
}

/** The fields of an entry. */
export type Details = Readonly<Record<string, unknown>>

/**
 * Reads the journal entry by entry into the book, and stops at the first that should not have
 * happened: too late, by the wrong party, out of the tables, over a limit.
 */
export class JournalReader {
  readonly #moment: Moment
  readonly #hearsay: Hearsay
  readonly #assignments: Assignments
  readonly #jobs: JobEntries
  readonly #bound: FairBound | null

  constructor(moment: Moment, hearsay: Hearsay, bound: FairBound | null) {
    this.#moment = moment
    this.#hearsay = hearsay
    this.#bound = bound
    this.#jobs = new JobEntries(moment, hearsay)
    this.#assignments = new Assignments(moment, bound)
  }

  read(rows: readonly JournalRecord[], facts: BatchFacts): void {
    const moment = this.#moment
    moment.forgetTouched()
    this.#assignments.begin(facts)
    for (const { lease, units } of moment.book.awaited.splice(0)) awaitProof(moment, lease, units)
    for (const row of rows) {
      if (row.at < moment.at)
        broken('transition', `entry ${row.seq} is older than the one before it`)
      moment.at = row.at
      moment.actor = row.actor
      moment.book.sessions.openUpTo(row.at)
      this.#read(row, facts)
    }
    this.#assignments.end()
    const { ended } = moment
    if (ended !== null)
      broken('transition', `lease ${ended.lease.id} ended, and its job was not moved`)
  }

  #read({ action, seq, subject, details: told }: JournalRecord, facts: BatchFacts): void {
    const moment = this.#moment
    const details: JournalRecord['details'] = { jobId: subject, ...told }
    switch (action) {
      case 'jobEnqueued':
        this.#jobs.enqueued(details, facts)
        moment.book.bulk.checkRetry(details, moment.book)
        return moment.book.schedules.fired(moment.job(subject).facts.caller, details, moment.at)
      case 'bulkStarted':
        return moment.book.bulk.start(subject, details, moment.book.accepted)
      case 'bulkProgress':
      case 'bulkEnded':
        return moment.book.bulk.goOn(subject, action === 'bulkEnded')
      case 'schedulePut':
        return moment.book.schedules.put(subject, details)
      case 'scheduleDeleted':
        return moment.book.schedules.delete(subject, details)
      case 'scheduleSkipped':
        return moment.book.schedules.skipped(subject, details, moment.at)
      case 'jobAssigned':
        return this.#assignments.assign(details)
      case 'jobStarted':
        return jobStarted(moment, details)
      case 'jobCompleted':
        return this.#jobs.completed(details, facts)
      case 'jobRequeued':
        this.#jobs.requeued(details)
        this.#bound?.givenBack(moment.job(details['jobId']).facts, moment.book.policy)
        return
      case 'jobExpired':
        return this.#jobs.expired(details)
      case 'jobFailed':
        return this.#jobs.failed(details)
      case 'jobCanceled':
        return this.#jobs.canceled(details)
      case 'jobCancelNoted':
        return this.#jobs.cancelNoted(details)
      case 'jobRescheduled':
        return moment.book.sessions.reschedule(details)
      case 'openingSet':
        return moment.book.sessions.setOpening(details, moment.at)
      case 'queuePaused':
        return moment.book.paused.begin(details)
      case 'queueResumed':
        return moment.book.paused.end(details)
      case 'leaseRenewed':
        return leaseRenewed(moment, details)
      case 'leaseCancelled':
        return leaseCancelled(moment, details, this.#hearsay)
      case 'leaseMoved':
        return leaseMoved(moment, details)
      case 'workerConnected':
        return workerConnected(moment, details)
      case 'workerLeft':
        return workerLeft(moment, details)
      case 'providerRegistered':
        moment.provider(details['providerId'])
        return
      case 'providerStatus':
        return providerStatus(moment, details)
      case 'proofAccepted':
        return proofAccepted(moment, details)
      case 'proofDropped':
        return proofDropped(moment, details)
      case 'slashWarning':
        return slashWarning(moment, details)
      case 'providerSlashed':
        return providerSlashed(moment, details)
      case 'epochSettled':
        return epochSettled(moment)
      case 'payoutRecorded':
        return moment.book.fund?.takePayout()
      case 'providerUnstaked':
      case 'keyChanged':
        return
      // Of no account to jobs, leases and caps: the ledger hears of these from those who asked for them.
      case 'providerUpdated':
      case 'providerStaked':
      case 'policyChanged':
      case 'auditPruned':
      case 'accessRefused':
      case 'dataRead':
      case 'clockFixed':
      case 'backupMade':
      case 'storeRestored':
      case 'replayAccepted':
      case 'limitDefined':
      case 'tokenChanged':
      case 'limitReset':
      case 'limitDeleted':
      case 'limitExcess':
      case 'placeReleased':
      case 'feeFailed':
        return
      default:
        broken('journal', `entry ${seq} has the unknown action ${action}`)
    }
  }
}

/** An operator's word; by itself a provider only ever becomes SUSPENDED (HEALTH-2). */
function providerStatus(moment: Moment, details: Details): void {
  const provider = moment.provider(details['providerId'])
  const status = details['status'] as typeof provider.status
  if (provider.status === 'RETIRED') broken('final-state', `${provider.id} is RETIRED for good`)
  const isFall = provider.status === 'ACTIVE' && status === 'SUSPENDED'
  if (moment.book.fund !== null) return fundStatus(moment, provider, status)
  if (moment.actor !== 'operator' && !isFall) {
    broken('transition', `${moment.actor} made ${provider.id} ${status}`)
  }
  if (moment.actor !== 'operator' && moment.book.policy.registry.health === 'off') {
    broken('fails-alone', `${provider.id} became ${status}, and no operator said so`)
  }
  provider.status = status
}

/** With a fund a slash may jail as well, and a jail ends by itself (STANDING-1, SLA-8). */
function fundStatus(
  moment: Moment,
  provider: ProviderEntry,
  status: ProviderEntry['status'],
): void {
  const { actor, at } = moment
  const { id, jailedUntil } = provider
  const isJailed = jailedUntil !== null && at < jailedUntil
  if (status === 'JAILED' && !isJailed) broken('service', `${id} is JAILED for no reason`)
  if (status !== 'JAILED' && status !== 'RETIRED' && isJailed)
    broken('service', `${id} is ${status} before the end of its jail`)
  const isFall = provider.status === 'ACTIVE' && status === 'SUSPENDED'
  if (provider.status === 'JAILED' && actor === 'engine')
    moment.refuseOffTime(jailedUntil ?? 0, `the end of the jail of ${id}`)
  else if (actor === 'engine' && status !== 'JAILED' && !isFall)
    broken('transition', `${actor} made ${id} ${status}`)
  provider.status = status
}
