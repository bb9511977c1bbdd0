import type { JobId, KindName, ProviderId } from '@fairlead/core'
import { isOwnTask, webhookOf } from '@fairlead/core/internal'
import type { Engine, EngineEvent, EngineView } from '@fairlead/engine'
import { Counter, Histogram, type Registry } from 'prom-client'
import { RatesByName } from './name-rates.ts'
import { ProviderOutcomes } from './provider-outcomes.ts'
import { Rate } from './rates.ts'
import { ServiceShares } from './service-shares.ts'

/** From milliseconds to an hour. */
const WAITS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600]

interface Attempt {
  readonly kind: KindName
  readonly name: string | null
  readonly providerId: ProviderId
  readonly at: number
  /** The webhook whose delivery it is; null for any other job. */
  readonly hook: string | null
}

/** Attempts that are followed at a time; what is beyond is counted and not timed. */
const ATTEMPTS_MAX = 200_000

/** How an attempt ends. */
type Outcome = 'completed' | 'requeued' | 'failed' | 'expired' | 'canceled'

/** The same in the words of a webhook. */
const DELIVERIES: Readonly<Record<Outcome, string>> = {
  completed: 'delivered',
  requeued: 'retried',
  failed: 'failed',
  expired: 'failed',
  canceled: 'canceled',
}

/** Codes of failed attempts that are counted by name; a worker may make up any number of others. */
const FAILURE_CODES: ReadonlySet<string> = new Set([
  'error',
  'timeout',
  'network',
  'temporary',
  'rate_limited',
  'retry_after',
  'exit',
  'cannot_start',
  'output_too_long',
  'output_not_serializable',
  'invalid_result',
  'invalid_input',
  'validation_error',
  'auth_error',
  'not_found',
  'sold_out',
  'out_of_memory',
  'ack_timeout',
  'lease_expired',
  'worker_lost',
  'proof_invalid',
])

/** Follows the events of the engine and counts what happens. */
export class EventMeter {
  readonly totals = {
    enqueued: 0,
    assigned: 0,
    completed: 0,
    failed: 0,
    expired: 0,
    canceled: 0,
    requeued: 0,
  }
  readonly rates = { enqueued: new Rate(), assigned: new Rate(), completed: new Rate() }
  readonly shares = new ServiceShares()
  readonly names = new RatesByName()
  readonly providers = new ProviderOutcomes()
  readonly #view: EngineView
  readonly #metrics: ReturnType<typeof metricsIn>
  readonly #attempts = new Map<JobId, Attempt>()
  #before: EngineEvent | null = null
  /** Why the lease failed that the event before cancelled. */
  #cancelCode: string | null = null

  constructor(engine: Engine, registry: Registry) {
    this.#view = engine.view
    this.#metrics = metricsIn(registry)
  }

  /** Usage that was too much to be booked (LIMIT-19). */
  addExcess(count: number): void {
    this.#metrics.excess.inc(count)
  }

  see(event: EngineEvent): void {
    const code = failureCode(event, this.#before)
    if (code !== null) {
      this.#metrics.failures.inc({ code: FAILURE_CODES.has(code) ? code : 'other' })
    }
    if ('jobId' in event) this.#attemptFailed(event, code ?? this.#cancelCode)
    this.#cancelCode = event.type === 'leaseCancelled' ? code : null
    this.#count(event)
    this.#before = event
  }

  /** The event behind that of a cancelled lease names the job, and its attempt is known until that is counted. */
  #attemptFailed(
    { jobId, at }: { readonly jobId: JobId; readonly at: number },
    code: string | null,
  ) {
    const attempt = code === null ? undefined : this.#attempts.get(jobId)
    if (attempt !== undefined) this.providers.addFailure(attempt.providerId, code, at)
  }

  #count(event: EngineEvent): void {
    const { type, at } = event
    if (type === 'jobEnqueued') {
      this.totals.enqueued++
      this.rates.enqueued.add(at)
      const job = this.#view.job(event.jobId)
      if (job !== null) this.names.add(job.kind, job.model, 'enqueued', at)
      this.#metrics.enqueued.inc({ kind: job?.kind ?? 'unknown' })
    } else if (type === 'jobAssigned') this.#assigned(event, at)
    else if (type === 'jobCompleted') this.#completed(event.jobId, at)
    else if (type === 'jobRequeued') this.#over('requeued', event)
    else if (type === 'jobFailed') this.#over('failed', event)
    else if (type === 'limitExcess') this.addExcess(1)
    else if (type === 'jobExpired') this.#over('expired', event)
    else if (type === 'jobCanceled') {
      this.totals.canceled++
      this.#metrics.canceled.inc()
      this.#ended(event.jobId, at, 'canceled')
    }
  }

  #over(
    outcome: 'requeued' | 'failed' | 'expired',
    { jobId, at, reason }: { readonly jobId: JobId; readonly at: number; readonly reason: string },
  ): void {
    this.totals[outcome]++
    const attempt = this.#attempts.get(jobId)
    if (outcome === 'requeued') {
      if (reason === 'DECLINED' && attempt !== undefined) {
        this.providers.add(attempt.providerId, 'declined', at)
      }
    } else {
      const { kind, name } = attempt ?? named(this.#view.job(jobId))
      if (kind !== null) this.names.add(kind, name, 'failed', at)
    }
    this.#metrics[outcome].inc({ reason: REASONS.has(reason) ? reason : 'other' })
    this.#ended(jobId, at, outcome)
  }

  #assigned(
    { jobId, providerId }: { readonly jobId: JobId; readonly providerId: ProviderId },
    at: number,
  ): void {
    this.totals.assigned++
    this.rates.assigned.add(at)
    this.providers.add(providerId, 'assigned', at)
    const job = this.#view.job(jobId)
    if (job === null) return
    const { kind, model: name, units, enqueueTs } = job
    this.shares.add(kind, job, units, at)
    this.#metrics.assigned.inc({ kind })
    this.#metrics.waited.observe({ kind }, (at - enqueueTs) / 1_000)
    if (this.#attempts.size < ATTEMPTS_MAX) {
      const hook = isOwnTask(job) ? webhookOf(name) : null
      this.#attempts.set(jobId, { kind, name, providerId, at, hook })
    }
  }

  #completed(jobId: JobId, at: number): void {
    this.totals.completed++
    this.rates.completed.add(at)
    const attempt = this.#attempts.get(jobId)
    this.#metrics.completed.inc({ kind: attempt?.kind ?? 'unknown' })
    if (attempt !== undefined) {
      this.providers.add(attempt.providerId, 'completed', at)
      this.names.add(attempt.kind, attempt.name, 'completed', at)
      this.#metrics.worked.observe({ kind: attempt.kind }, (at - attempt.at) / 1_000)
    }
    this.#ended(jobId, at, 'completed')
  }

  #ended(jobId: JobId, at: number, outcome: Outcome): void {
    const attempt = this.#attempts.get(jobId)
    if (attempt === undefined) return
    this.#attempts.delete(jobId)
    this.#metrics.leased.observe({ outcome }, (at - attempt.at) / 1_000)
    const { hook } = attempt
    if (hook !== null) this.#metrics.deliveries.inc({ hook, outcome: DELIVERIES[outcome] })
  }
}

function named(job: ReturnType<EngineView['job']>): {
  readonly kind: KindName | null
  readonly name: string | null
} {
  return { kind: job?.kind ?? null, name: job?.model ?? null }
}

/**
 * Why an attempt failed, by the event that says so; null for an event that says nothing of the kind. The end of a
 * job whose retries are used up does not name the last failure: where the event before is not its cancelled
 * lease, the lease had reached its deadline or the proof was invalid.
 */
function failureCode(event: EngineEvent, before: EngineEvent | null): string | null {
  if (event.type === 'leaseCancelled') {
    if (event.reason === 'provider_fail') return event.code ?? 'error'
    return event.reason === 'ack_timeout' ? 'ack_timeout' : null
  }
  if (event.type === 'jobRequeued') return REQUEUED[event.reason] ?? null
  if (event.type === 'jobFailed' && event.reason === 'worker_lost') return 'worker_lost'
  const isLast = event.type === 'jobFailed' || event.type === 'jobExpired'
  if (!isLast || event.reason !== 'retries_exhausted' || before?.type === 'leaseCancelled')
    return null
  return event.type === 'jobFailed' ? 'proof_invalid' : 'lease_expired'
}

/** Reasons by which ends and retries are counted. That of a registration may be a word of an operator's own. */
const REASONS: ReadonlySet<string> = new Set([
  ...['ttl_abs', 'ttl_rel', 'declined', 'permanent_error', 'retries_exhausted', 'worker_lost'],
  ...['ACK_TIMEOUT', 'LEASE_EXPIRED', 'PROVIDER_FAIL', 'PROOF_INVALID', 'DECLINED', 'RELEASED'],
  ...['WORKER_LOST', 'LEASE_CANCELLED', 'retry_window_exhausted', 'outcome_unknown'],
  ...['validation_error', 'sold_out', 'not_found', 'auth_error'],
])

const REQUEUED: Readonly<Record<string, string>> = {
  LEASE_EXPIRED: 'lease_expired',
  PROOF_INVALID: 'proof_invalid',
  WORKER_LOST: 'worker_lost',
}

function metricsIn(registry: Registry) {
  const registers = [registry]
  return {
    enqueued: new Counter({
      name: 'fairlead_jobs_enqueued_total',
      help: 'Jobs that were accepted.',
      labelNames: ['kind'],
      registers,
    }),
    assigned: new Counter({
      name: 'fairlead_jobs_assigned_total',
      help: 'Leases that were issued.',
      labelNames: ['kind'],
      registers,
    }),
    completed: new Counter({
      name: 'fairlead_jobs_completed_total',
      help: 'Jobs that were completed.',
      labelNames: ['kind'],
      registers,
    }),
    requeued: new Counter({
      name: 'fairlead_jobs_requeued_total',
      help: 'Jobs that went back to the queue, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    failed: new Counter({
      name: 'fairlead_jobs_failed_total',
      help: 'Jobs that ended as FAILED, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    expired: new Counter({
      name: 'fairlead_jobs_expired_total',
      help: 'Jobs that ended as EXPIRED, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    failures: new Counter({
      name: 'fairlead_attempt_failures_total',
      help: 'Attempts that failed, by code; codes that are not on the list are counted as other.',
      labelNames: ['code'],
      registers,
    }),
    excess: new Counter({
      name: 'fairlead_limit_excess_total',
      help: 'Actual usage of limits that was too much to be booked in full.',
      registers,
    }),
    deliveries: new Counter({
      name: 'fairlead_webhook_deliveries_total',
      help: 'Attempts to deliver an event to a webhook, by what became of them.',
      labelNames: ['hook', 'outcome'],
      registers,
    }),
    canceled: new Counter({
      name: 'fairlead_jobs_canceled_total',
      help: 'Jobs that were cancelled.',
      registers,
    }),
    waited: new Histogram({
      name: 'fairlead_enqueue_to_assign_seconds',
      help: 'Time from the acceptance of a job to a lease on it.',
      labelNames: ['kind'],
      buckets: WAITS,
      registers,
    }),
    worked: new Histogram({
      name: 'fairlead_assign_to_complete_seconds',
      help: 'Time from a lease to the completion of its job.',
      labelNames: ['kind'],
      buckets: WAITS,
      registers,
    }),
    leased: new Histogram({
      name: 'fairlead_lease_duration_seconds',
      help: 'Time from a lease to its end, by what became of the job.',
      labelNames: ['outcome'],
      buckets: WAITS,
      registers,
    }),
  }
}
