import type { JobId, JobRow } from '@fairlead/core'
import { broken } from '../../violation.ts'
import { classOf, endsAt, type JobEntry, type LeaseEntry, type ProviderEntry } from '../book.ts'
import type { Traps } from '../fund/envelope.ts'
import { bill } from '../fund/fund-book.ts'
import type { Proving } from '../fund/proving.ts'
import type { Result } from '../fund/service.ts'
import type { Verdict } from '../rules/own-attempts.ts'
import { attemptsOf, retryAfterMaxMs, ttlRelAt, waitOf } from '../rules/own-rules.ts'
import { reasonOf } from '../sessions/session-book.ts'
import type { BatchFacts, Details, Hearsay } from './journal-reader.ts'
import { isLoss } from './lease-entries.ts'
import type { Moment } from './moment.ts'

/** Which end of a lease leads to which way back. */
const WAY_BACK: Readonly<Record<string, readonly string[]>> = {
  ACK_TIMEOUT: ['ack_timeout'],
  PROVIDER_FAIL: ['provider_fail'],
  DECLINED: ['declined'],
  RELEASED: ['released', 'disowned', 'worker_lost'],
  WORKER_LOST: ['disowned', 'worker_lost'],
  LEASE_CANCELLED: ['provider_status', 'over_cap'],
}
/** Every way in which an attempt can end, and its registration with it. */
const ALL_WAYS: readonly string[] = [...Object.values(WAY_BACK).flat(), 'job_ended']
const CHARGES = new Set(['ACK_TIMEOUT', 'LEASE_EXPIRED', 'PROVIDER_FAIL', 'PROOF_INVALID'])
const DENIED_MS: Readonly<Record<string, number>> = { LEASE_EXPIRED: 60_000, PROOF_INVALID: 60_000 }
const DECLINES_MAX = 16
const NOTHING = new Uint8Array()
/** A proof that is invalid is counted with its traps. */
const RESULTS: Readonly<Record<string, Result>> = {
  ACK_TIMEOUT: 'ack_timeout',
  LEASE_EXPIRED: 'lease_expired',
  PROVIDER_FAIL: 'provider_fail',
}

/** What the journal says of jobs, the assignments apart. */
export class JobEntries {
  readonly #moment: Moment
  readonly #hearsay: Hearsay

  constructor(moment: Moment, hearsay: Hearsay) {
    this.#moment = moment
    this.#hearsay = hearsay
  }

  enqueued(details: Details, { newJobs, payloads }: BatchFacts): void {
    const { book, jobs } = this.#moment
    const id = details['jobId'] as JobId
    const facts = newJobs.get(id)
    if (facts === undefined) broken('job-lost', `job ${id} was accepted without a row`)
    if (book.jobs.has(id)) broken('idempotency', `job ${id} was accepted twice`)
    this.#refuseDepth(facts)
    this.#refuseDuplicate(facts)
    const job = newEntry(facts)
    this.#waitFor(job)
    book.accepted++
    book.jobs.set(id, job)
    book.alive.add(job)
    jobs.add(job)
    const payload = payloads.get(id)
    if (facts.kind === 'registration' && payload !== undefined) {
      book.sessions.join(job, payload, this.#moment.at)
    }
    if (facts.seq === book.accepted) return
    broken('order', `job ${id} has the number ${facts.seq}, it is the ${book.accepted}th`)
  }

  #refuseDuplicate({ id, caller, kind, model, options }: JobRow): void {
    const key = options?.dedupeKey
    if (key === undefined) return
    for (const { facts } of this.#moment.book.alive) {
      const isSame = facts.caller === caller && facts.kind === kind && facts.model === model
      if (!isSame || facts.options?.dedupeKey !== key) continue
      broken('dedupe', `job ${id} was accepted, and the live job ${facts.id} has its dedupe key`)
    }
  }

  /** One that is not there, or another's, is as one that failed (OPTIONS-8). */
  #waitFor(job: JobEntry): void {
    const { dependsOn = [], onDependency } = job.facts.options ?? {}
    for (const id of dependsOn) {
      const other = this.#moment.book.jobs.get(id)
      const isOwn = other?.facts.caller === job.facts.caller
      if (isOwn && other.endedAt === null) job.waitsFor.add(other)
      else if (isOwn && this.#mayBeDeleted(other)) job.isDoubtful = true
      else if (!(isOwn && other.status === 'COMPLETED') && onDependency !== 'run')
        job.isBroken = true
    }
  }

  /** The tables of the leader may have deleted it before those that this reads. */
  #mayBeDeleted({ endedAt }: JobEntry): boolean {
    const { at, book } = this.#moment
    return at - (endedAt ?? at) >= 1_000 * book.policy.queue.ttl.gcHorizonSecs
  }

  completed(details: Details, { results }: BatchFacts): void {
    const moment = this.#moment
    const job = moment.job(details['jobId'])
    if (job.proving !== null) return this.#proved(job, details, results)
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
    if (result.caller !== job.facts.caller) {
      broken('result-kept', `the result of job ${id} belongs to ${result.caller}`)
    }
    // A completion implies the ack (STATE-9).
    lease.acked = true
    if (job.facts.kind === 'registration') {
      this.#expect(job, this.#endedRegistration(job, lease, 'provider_fail'), 'COMPLETED', null)
    }
    lease.digest = result.digest
    moment.endLease(lease, 'COMPLETED', result.units)
    moment.book.endJob(job, 'COMPLETED', null, moment.at)
    if (moment.hasHealth) lease.provider.failures = 0
  }

  /** Its claim is FINAL: now, and not before, its result can be read (CLAIM-5). */
  #proved(job: JobEntry, details: Details, results: BatchFacts['results']): void {
    const moment = this.#moment
    const { book, at } = moment
    const { fund } = book
    const { id } = job.facts
    const { proving } = job
    const step = fund?.steps.shift()
    if (fund === null || proving === null || step?.type !== 'final' || step.claim.job !== job)
      broken('claim-final', `job ${id} is COMPLETED, and its claim is not FINAL`)
    const { lease, said } = proving
    const result = results.get(id)
    const isRight =
      details['leaseId'] === lease.id &&
      details['providerId'] === lease.provider.id &&
      details['digest'] === lease.digest &&
      result?.leaseId === lease.id &&
      result.digest === lease.digest &&
      result.caller === job.facts.caller &&
      result.units === said.units &&
      result.contentType === said.contentType &&
      Buffer.compare(result.output ?? NOTHING, said.output ?? NOTHING) === 0
    if (!isRight)
      broken('claim-final', `job ${id} is COMPLETED with another result than it was given`)
    const { claim } = result
    const { nullifier, blockHeight, claimKey, envelopeHash } = step.claim
    const isOfClaim =
      claim?.nullifier === nullifier &&
      claim.blockHeight === blockHeight &&
      claim.claimKey === claimKey &&
      claim.envelopeHash === envelopeHash &&
      claim.finalizedHeight === step.finalizedHeight
    if (!isOfClaim) broken('claim-final', `the result of job ${id} shows another claim`)
    bill(fund, job, step, at, book)
    book.endJob(job, 'COMPLETED', null, at)
    if (moment.hasHealth) lease.provider.failures = 0
    moment.providers.add(lease.provider)
  }

  /** No proof in time, or failed traps (CLAIM-6, PROOF-7); gives the lease that is charged. */
  #unproved(job: JobEntry): LeaseEntry {
    const { book, at } = this.#moment
    const { fund } = book
    const { id } = job.facts
    const proving = job.charged ?? job.proving
    if (fund === null || proving === null || proving.claim !== null)
      broken('proof', `job ${id} is charged for a proof that it does not await`)
    const step = job.charged === null ? undefined : fund.steps.shift()
    if (job.charged === null) {
      this.#moment.refuseOffTime(fund.provings.dueAt(job), `the proof of ${id}`)
      fund.provings.end(job)
    } else if (step?.type !== 'invalid' || step.job !== job) {
      broken('proof', `job ${id} is charged for its proof, and ${step?.type} comes first`)
    }
    return this.#chargeProof(job, proving, at, step?.type === 'invalid' ? step.traps : null)
  }

  #chargeProof(job: JobEntry, { lease }: Proving, at: number, traps: Traps | null): LeaseEntry {
    job.charged = null
    job.provedUntil = at
    this.#moment.failAttempt(lease, { code: 'proof_invalid', words: 'engine' })
    this.#moment.book.fund?.count(lease, 'proof_invalid', at, { traps })
    return lease
  }

  requeued(details: Details): void {
    const job = this.#moment.job(details['jobId'])
    const reason = details['reason'] as string
    const isRegistration = job.facts.kind === 'registration'
    const isCancel = isRegistration && reason === 'LEASE_CANCELLED'
    const ways = isCancel ? [...(WAY_BACK[reason] ?? []), 'job_ended'] : (WAY_BACK[reason] ?? [])
    const { ended } = this.#moment
    const lease =
      reason === 'PROOF_INVALID'
        ? this.#unproved(job)
        : this.#endedAttempt(job, ways, reason === 'LEASE_EXPIRED')
    job.status = 'QUEUED'
    job.notBefore = null
    const isLost = ended !== null && isLoss(lease, ended.reason)
    if (isLost !== (reason === 'WORKER_LOST')) {
      broken('worker-loss', `job ${job.facts.id} is requeued as ${reason} after ${ended?.reason}`)
    }
    if (isLost) this.#loseWorker(job, ended.losses)
    if (isRegistration) this.#retryRegistration(job, lease, reason)
    else if (CHARGES.has(reason)) this.#charge(job, lease, reason)
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
    if (job.facts.kind === 'registration' && reason !== 'declined') {
      this.#endRegistration(job, 'FAILED', reason)
    } else if (reason === 'worker_lost') {
      this.#lastLoss(job)
    } else if (reason === 'declined') {
      this.#endedAttempt(job, ['declined'], false)
      job.declines++
      if (job.declines !== DECLINES_MAX) broken('transition', `decline ${job.declines} ended a job`)
    } else if (job.proving !== null || job.charged !== null) this.#lastProof(job)
    else this.#lastCharge(job, ['provider_fail'], false, reason)
    this.#moment.book.endJob(job, 'FAILED', reason, this.#moment.at)
  }

  canceled(details: Details): void {
    const { at, book } = this.#moment
    const job = this.#moment.job(details['jobId'])
    const reason = (details['reason'] ?? null) as string | null
    if (reason !== null && !job.isBroken && !job.isDoubtful) {
      broken('dependencies', `job ${job.facts.id} ends, and no dependency of it has failed`)
    }
    if (job.proving?.claim != null)
      broken('proof', `job ${job.facts.id} is cancelled, and has a claim`)
    if (job.facts.kind === 'registration') this.#endRegistration(job, 'CANCELED', null)
    else {
      if (reason === null) this.#refuseStranger(job)
      this.#endedWithJob(job)
    }
    book.endJob(job, 'CANCELED', reason, at)
  }

  /** Its attempt may have booked: the cancel waits until that is known (ATTEMPT-6). */
  cancelNoted(details: Details): void {
    const { at, book } = this.#moment
    const job = this.#moment.job(details['jobId'])
    this.#refuseStranger(job)
    book.sessions.noteCancel(job, at)
  }

  #refuseStranger({ facts }: JobEntry): void {
    const { actor } = this.#moment
    if (actor === 'operator' || actor === facts.caller) return
    broken('answer', `${actor} cancelled job ${facts.id}, which is another's`)
  }

  #retryRegistration(job: JobEntry, lease: LeaseEntry, reason: string): void {
    const { sessions } = this.#moment.book
    const verdict = this.#endedRegistration(job, lease, WAY_BACK[reason]?.[0] ?? '')
    this.#chargeRegistration(job, lease, reason)
    if (verdict?.type === 'ends') {
      broken('attempt', `job ${job.facts.id} goes on, it should be ${verdict.status}`)
    }
    job.notBefore = sessions.of(job)?.retryAt ?? null
  }

  /** By the verdict on its last attempt, by the end of its window, or by a cancel. */
  #endRegistration(job: JobEntry, status: string, reason: string | null): void {
    const { ended, book, at } = this.#moment
    if (ended !== null || job.lease !== null) {
      const lease = this.#endedAttempt(job, ALL_WAYS, true)
      const way = ended?.reason ?? 'deadline'
      this.#expect(job, this.#endedRegistration(job, lease, way), status, reason)
      const charge = { ack_timeout: 'ACK_TIMEOUT', provider_fail: 'PROVIDER_FAIL' }[way]
      this.#chargeRegistration(job, lease, charge ?? (ended === null ? 'LEASE_EXPIRED' : ''))
      if (way === 'declined') this.#decline(job, lease)
      return
    }
    const registration = book.sessions.of(job)
    if (registration === null) broken('rows', `job ${job.facts.id} is in no session`)
    const { isUnknown, lookupUntil, lastAttempt } = registration
    this.#hearsay.checkEnd({ jobId: job.facts.id, lastAttempt, status, reason })
    const isGivenUp = status === 'FAILED' && at >= book.sessions.givenUpAt(registration)
    if (isGivenUp && reason === reasonOf(registration)) {
      const due = book.sessions.givenUpAt(registration)
      return this.#moment.refuseOffTime(due, `the retry window of ${job.facts.id}`)
    }
    // A cancel, then: of one that may have booked, and cannot be asked about, nobody knows (ATTEMPT-7).
    this.#refuseStranger(job)
    const isRight = isUnknown ? reason === 'outcome_unknown' : status === 'CANCELED'
    const { lookupSupported } = book.sessions.policyOf(registration.platform)
    if (isRight && lookupUntil === null && !(isUnknown && lookupSupported)) return
    broken('attempt', `job ${job.facts.id} is ${status} (${reason}) by a cancel`)
  }

  /** What must become of a registration, by the way in which its lease ended. */
  #endedRegistration(job: JobEntry, lease: LeaseEntry, way: string): Verdict | null {
    const { book, at } = this.#moment
    const said = way === 'provider_fail' ? this.#hearsay.said(lease.id) : null
    return book.sessions.endAttempt(job, { at, lease, said })
  }

  #expect(job: JobEntry, due: Verdict | null, status: string, reason: string | null): void {
    const lastAttempt = this.#moment.book.sessions.of(job)?.lastAttempt ?? null
    this.#hearsay.checkEnd({ jobId: job.facts.id, lastAttempt, status, reason })
    if (due?.type === 'ends' && due.status === status && due.reason === reason) return
    const { id } = job.facts
    broken('attempt', `job ${id} is ${status} (${reason}), due was ${JSON.stringify(due)}`)
  }

  /** Only what a worker does to its lease counts against it, nothing that a platform answers (HEALTH-5). */
  #chargeRegistration(job: JobEntry, lease: LeaseEntry, charge: string): void {
    const isLookup = this.#moment.book.sessions.isLookup(lease.id)
    if (charge === 'PROVIDER_FAIL' ? !isLookup : CHARGES.has(charge)) job.retries++
    if (charge !== 'ACK_TIMEOUT' && charge !== 'LEASE_EXPIRED') return
    this.#denyAfter(charge, job, lease)
    this.#chargeProvider(lease, charge)
  }

  /** An expired lease keeps its provider away from the job, where there is health. */
  #denyAfter(charge: string, job: JobEntry, { provider }: LeaseEntry): void {
    const denied = DENIED_MS[charge]
    // A proof is its provider's own matter, whether or not there is health.
    if (denied !== undefined && (this.#moment.hasHealth || charge === 'PROOF_INVALID')) {
      deny(job, provider, this.#moment.at + denied)
    }
  }

  #endLife(job: JobEntry, reason: string): void {
    this.#endedWithJob(job)
    const relative = ttlRelAt(job.firstAssignedAt, this.#moment.book.policy)
    const due = reason === 'ttl_abs' ? this.#moment.book.lifeEndsAt(job) : relative
    // A dependency that ended while no engine ran may have told it after its life was over.
    if (job.releasedAt !== null && this.#moment.at >= Math.max(due, job.provedUntil)) return
    this.#moment.refuseOffTime(Math.max(due, job.provedUntil), `the ${reason} of ${job.facts.id}`)
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
    if (job.proving !== null) broken('proof', `job ${id} moves on, and awaits its proof`)
    if (ended !== null) {
      if (ended.lease.job === job && ways.includes(ended.reason)) return ended.lease
      broken('transition', `lease ${ended.lease.id} ended as ${ended.reason}, and job ${id} moved`)
    }
    const { lease } = job
    if (lease === null || !byDeadline)
      broken('transition', `job ${id} moved, and its lease did not end`)
    moment.refuseOffTime(endsAt(lease), `the end of ${lease.id}`)
    const code = isTimeout(lease) ? 'timeout' : 'lease_expired'
    moment.failAttempt(lease, { code, words: 'engine' })
    moment.endLease(lease, 'EXPIRED', 0)
    return lease
  }

  #charge(job: JobEntry, lease: LeaseEntry, reason: string): void {
    const { at, book } = this.#moment
    const attemptMax = attemptsOf(job.facts, book.policy)
    const { id } = job.facts
    const asked = reason === 'PROVIDER_FAIL' ? this.#hearsay.failure(lease.id).retryAfterMs : 0
    const waitMs = Math.min(asked ?? 0, retryAfterMaxMs(job.facts, book.policy))
    job.notBefore = at + Math.max(waitMs, waitOf(job.facts, job.retries, book.policy))
    job.retries++
    if (!(reason === 'LEASE_EXPIRED' && isTimeout(lease))) {
      this.#denyAfter(reason, job, lease)
      this.#chargeProvider(lease, reason)
    }
    if (job.retries < attemptMax) return
    broken('retries', `job ${id} goes on after ${job.retries} of ${attemptMax} charges`)
  }

  /** Uncharged: it waits as after a charge, and the losses in a row are counted (WORKER-16). */
  #loseWorker(job: JobEntry, losses: number): void {
    const { at, book } = this.#moment
    const { workerLostMax } = book.policy.queue.retries
    const { id } = job.facts
    job.workerLosses = losses + 1
    job.notBefore = at + waitOf(job.facts, job.retries, book.policy)
    if (job.workerLosses < (workerLostMax ?? Number.POSITIVE_INFINITY)) return
    broken('worker-loss', `job ${id} goes on after ${job.workerLosses} of ${workerLostMax} losses`)
  }

  #lastLoss(job: JobEntry): void {
    const { workerLostMax } = this.#moment.book.policy.queue.retries
    const { ended } = this.#moment
    const lease = this.#endedAttempt(job, ['disowned', 'worker_lost'], false)
    job.workerLosses = (ended?.losses ?? 0) + 1
    const isDue = workerLostMax !== null && job.workerLosses >= workerLostMax
    if (isDue && ended !== null && isLoss(lease, ended.reason)) return
    broken('worker-loss', `job ${job.facts.id} ended after ${job.workerLosses} losses`)
  }

  #lastProof(job: JobEntry): void {
    const attemptMax = attemptsOf(job.facts, this.#moment.book.policy)
    const lease = this.#unproved(job)
    job.retries++
    this.#chargeProvider(lease, 'PROOF_INVALID')
    if (job.retries >= attemptMax) return
    broken('retries', `job ${job.facts.id} ended after ${job.retries} of ${attemptMax} charges`)
  }

  #lastCharge(job: JobEntry, ways: readonly string[], byDeadline: boolean, reason: string): void {
    const attemptMax = attemptsOf(job.facts, this.#moment.book.policy)
    const how = this.#moment.ended === null ? 'LEASE_EXPIRED' : 'ACK_TIMEOUT'
    const lease = this.#endedAttempt(job, ways, byDeadline)
    const isOwnTime = lease.status === 'EXPIRED' && isTimeout(lease)
    job.retries++
    const isPermanent = reason === 'permanent_error'
    const isJobsFault = isPermanent && this.#hearsay.isJobsFault(lease.id)
    const charge = isPermanent || ways[0] === 'provider_fail' ? 'PROVIDER_FAIL' : how
    if (!isJobsFault && !isOwnTime) this.#chargeProvider(lease, charge)
    if (isPermanent || job.retries >= attemptMax) return
    broken('retries', `job ${job.facts.id} ended after ${job.retries} of ${attemptMax} charges`)
  }

  /** HEALTH-3; where there is no health a failure is nobody's but the job's (HEALTH-7). */
  #chargeProvider(lease: LeaseEntry, charge: string): void {
    const { at, book } = this.#moment
    const { provider } = lease
    const result = RESULTS[charge]
    if (result !== undefined) book.fund?.count(lease, result, at)
    if (!this.#moment.hasHealth) return
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
    if (!this.#moment.hasHealth) return deny(job, provider, at + 30_000)
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
  const { caller, tier, kind, model, shots, depthHint, regions, needs, units } = facts
  return {
    facts,
    classKey: JSON.stringify([caller, tier, kind, model, shots, depthHint, regions, needs, units]),
    status: 'QUEUED',
    attempt: null,
    retries: 0,
    declines: 0,
    workerLosses: 0,
    failures: new Map(),
    notBefore: null,
    waitsFor: new Set(),
    releasedAt: null,
    isBroken: false,
    isDoubtful: false,
    firstAssignedAt: null,
    endedAt: null,
    reason: null,
    denials: new Map(),
    lease: null,
    proving: null,
    charged: null,
    provedUntil: 0,
    lastProvider: null,
  }
}

function isTimeout({ timeoutAt, deadline }: LeaseEntry): boolean {
  return timeoutAt <= deadline
}

/** RETRY-4: never shortened. */
function deny(job: JobEntry, { id }: ProviderEntry, until: number): void {
  job.denials.set(id, Math.max(until, job.denials.get(id) ?? 0))
}
