import type { JobId, JobRow } from '@fairlead/core'
import { broken } from '../violation.ts'
import { classOf, type JobEntry, type LeaseEntry, type ProviderEntry } from './book.ts'
import type { BatchFacts, Details, Hearsay } from './journal-reader.ts'
import type { Moment } from './moment.ts'
import { backoffMs, ttlAbsAt } from './own-rules.ts'

/** Which end of a lease leads to which way back. */
const WAY_BACK: Readonly<Record<string, readonly string[]>> = {
  ACK_TIMEOUT: ['ack_timeout'],
  PROVIDER_FAIL: ['provider_fail'],
  DECLINED: ['declined'],
  RELEASED: ['released', 'disowned', 'worker_lost'],
  LEASE_CANCELLED: ['provider_status', 'over_cap'],
}
const CHARGES = new Set(['ACK_TIMEOUT', 'LEASE_EXPIRED', 'PROVIDER_FAIL', 'PROOF_INVALID'])
const DENIED_MS: Readonly<Record<string, number>> = { LEASE_EXPIRED: 60_000, PROOF_INVALID: 60_000 }
const DECLINES_MAX = 16

/** What the journal says of jobs, the assignments apart. */
export class JobEntries {
  readonly #moment: Moment
  readonly #hearsay: Hearsay

  constructor(moment: Moment, hearsay: Hearsay) {
    this.#moment = moment
    this.#hearsay = hearsay
  }

  enqueued(details: Details, { newJobs }: BatchFacts): void {
    const { book, jobs } = this.#moment
    const id = details['jobId'] as JobId
    const facts = newJobs.get(id)
    if (facts === undefined) broken('job-lost', `job ${id} was accepted without a row`)
    if (book.jobs.has(id)) broken('idempotency', `job ${id} was accepted twice`)
    this.#refuseDepth(facts)
    const job = newEntry(facts)
    book.accepted++
    book.jobs.set(id, job)
    book.alive.add(job)
    jobs.add(job)
    if (facts.seq === book.accepted) return
    broken('order', `job ${id} has the number ${facts.seq}, it is the ${book.accepted}th`)
  }

  completed(details: Details, { results }: BatchFacts): void {
    const moment = this.#moment
    const job = moment.job(details['jobId'])
    const { lease } = job
    const { id } = job.facts
    if (lease === null || lease.id !== details['leaseId']) {
      broken('completed-once', `job ${id} was completed by a lease that does not hold it`)
    }
    if (moment.actor !== lease.provider.id || details['providerId'] !== lease.provider.id) {
      broken('completed-once', `lease ${lease.id} was completed by ${moment.actor}, not its holder`)
    }
    moment.refuseLate(lease)
    const result = results.get(id)
    if (result?.leaseId !== lease.id || result.digest !== details['digest']) {
      broken('completed-once', `job ${id} was completed without its result`)
    }
    lease.digest = result.digest
    moment.endLease(lease, 'COMPLETED', result.units)
    moment.book.endJob(job, 'COMPLETED', null, moment.at)
    lease.provider.failures = 0
  }

  requeued(details: Details): void {
    const job = this.#moment.job(details['jobId'])
    const reason = details['reason'] as string
    const lease = this.#endedAttempt(job, WAY_BACK[reason] ?? [], reason === 'LEASE_EXPIRED')
    job.status = 'QUEUED'
    job.notBefore = null
    if (CHARGES.has(reason)) this.#charge(job, lease, reason)
    if (reason === 'DECLINED') this.#decline(job, lease)
    if (details['notBefore'] === job.notBefore) return
    const told = details['notBefore'] as number | null
    broken('backoff', `job ${job.facts.id} waits until ${told}, not ${job.notBefore}`)
  }

  expired(details: Details): void {
    const reason = details['reason'] as string
    const job = this.#moment.job(details['jobId'])
    if (reason === 'retries_exhausted') this.#lastCharge(job, ['ack_timeout'], true, reason)
    else this.#endLife(job, reason)
    this.#moment.book.endJob(job, 'EXPIRED', reason, this.#moment.at)
  }

  failed(details: Details): void {
    const reason = details['reason'] as string
    const job = this.#moment.job(details['jobId'])
    if (reason === 'declined') {
      this.#endedAttempt(job, ['declined'], false)
      job.declines++
      if (job.declines !== DECLINES_MAX) broken('transition', `decline ${job.declines} ended a job`)
    } else this.#lastCharge(job, ['provider_fail'], false, reason)
    this.#moment.book.endJob(job, 'FAILED', reason, this.#moment.at)
  }

  canceled(details: Details): void {
    const { actor, at, book } = this.#moment
    const job = this.#moment.job(details['jobId'])
    if (actor !== 'operator' && actor !== job.facts.caller) {
      broken('answer', `${actor} cancelled job ${job.facts.id}, which is another's`)
    }
    this.#endedWithJob(job)
    book.endJob(job, 'CANCELED', null, at)
  }

  #endLife(job: JobEntry, reason: string): void {
    this.#endedWithJob(job)
    const { policy } = this.#moment.book
    const relative = (job.firstAssignedAt ?? Number.NaN) + 1_000 * policy.queue.ttl.relMaxSecs
    const due = reason === 'ttl_abs' ? ttlAbsAt(job.facts, policy) : relative
    this.#moment.refuseOffTime(due, `the ${reason} of ${job.facts.id}`)
  }

  /** A job that ends by itself takes its live lease with it. */
  #endedWithJob(job: JobEntry): void {
    if (job.lease !== null || this.#moment.ended !== null)
      this.#endedAttempt(job, ['job_ended'], false)
  }

  /** The attempt whose end moves this job: cancelled just before, or over at its deadline now. */
  #endedAttempt(job: JobEntry, ways: readonly string[], byDeadline: boolean): LeaseEntry {
    const moment = this.#moment
    const { ended } = moment
    const { id } = job.facts
    moment.ended = null
    if (ended !== null) {
      if (ended.lease.job === job && ways.includes(ended.reason)) return ended.lease
      broken('transition', `lease ${ended.lease.id} ended as ${ended.reason}, and job ${id} moved`)
    }
    const { lease } = job
    if (lease === null || !byDeadline)
      broken('transition', `job ${id} moved, and its lease did not end`)
    moment.refuseOffTime(lease.deadline, `the deadline of ${lease.id}`)
    moment.endLease(lease, 'EXPIRED', 0)
    return lease
  }

  #charge(job: JobEntry, lease: LeaseEntry, reason: string): void {
    const { at, book } = this.#moment
    const { attemptMax } = book.policy.queue.retries
    const { kind, id } = job.facts
    job.notBefore = at + backoffMs(kind, id, job.retries, book.policy)
    job.retries++
    const denied = DENIED_MS[reason]
    if (denied !== undefined) deny(job, lease.provider, at + denied)
    this.#chargeProvider(lease)
    if (job.retries < attemptMax) return
    broken('retries', `job ${id} goes on after ${job.retries} of ${attemptMax} charges`)
  }

  #lastCharge(job: JobEntry, ways: readonly string[], byDeadline: boolean, reason: string): void {
    const { attemptMax } = this.#moment.book.policy.queue.retries
    const lease = this.#endedAttempt(job, ways, byDeadline)
    job.retries++
    const isPermanent = reason === 'permanent_error'
    if (!isPermanent || !this.#hearsay.isJobsFault(lease.id)) this.#chargeProvider(lease)
    if (isPermanent || job.retries >= attemptMax) return
    broken('retries', `job ${job.facts.id} ended after ${job.retries} of ${attemptMax} charges`)
  }

  /** HEALTH-3. */
  #chargeProvider({ provider }: LeaseEntry): void {
    const { at, book } = this.#moment
    provider.failures++
    const over = provider.failures - book.policy.registry.cooldownAfter
    if (over < 0) return
    const until = at + 1_000 * Math.min(900, 30 * 2 ** Math.min(over, 20))
    provider.cooldownUntil = Math.max(provider.cooldownUntil ?? 0, until)
  }

  /** RETRY-5. */
  #decline(job: JobEntry, { provider }: LeaseEntry): void {
    const { at } = this.#moment
    job.declines++
    if (job.declines >= DECLINES_MAX)
      broken('transition', `job ${job.facts.id} was declined too often`)
    if (job.declines > 2) return deny(job, provider, at + 600_000)
    const key = classOf(job.facts)
    const old = provider.classCooldowns.get(key) ?? 0
    provider.classCooldowns.set(key, Math.max(old, at + 30_000))
  }

  #refuseDepth({ caller }: JobRow): void {
    const { alive, policy } = this.#moment.book
    const { maxDepth, maxPerCaller } = policy.queue
    let [all, own] = [0, 0]
    for (const { status, facts } of alive) {
      if (status !== 'QUEUED') continue
      all++
      if (facts.caller === caller) own++
    }
    if (all < maxDepth && own < (maxPerCaller ?? Number.POSITIVE_INFINITY)) return
    broken('queue-depth', `a job was accepted with ${all} waiting, ${own} of them its caller's`)
  }
}

function newEntry(facts: JobRow): JobEntry {
  const { caller, tier, kind, model, shots, depthHint, regions, units } = facts
  return {
    facts,
    classKey: JSON.stringify([caller, tier, kind, model, shots, depthHint, regions, units]),
    status: 'QUEUED',
    attempt: null,
    retries: 0,
    declines: 0,
    notBefore: null,
    firstAssignedAt: null,
    endedAt: null,
    reason: null,
    denials: new Map(),
    lease: null,
    lastProvider: null,
  }
}

/** RETRY-4: never shortened. */
function deny(job: JobEntry, { id }: ProviderEntry, until: number): void {
  job.denials.set(id, Math.max(until, job.denials.get(id) ?? 0))
}
