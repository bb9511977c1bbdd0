import type { JobId, KindName } from '@fairlead/core'
import type { Engine, EngineEvent, EngineView } from '@fairlead/engine'
import { Counter, Histogram, type Registry } from 'prom-client'
import { Rate } from './rates.ts'
import { ServiceShares } from './service-shares.ts'

/** From milliseconds to an hour. */
const WAITS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600]

interface Attempt {
  readonly kind: KindName
  readonly at: number
}

/** Attempts that are followed at a time; what is beyond is counted and not timed. */
const ATTEMPTS_MAX = 200_000

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
  readonly #view: EngineView
  readonly #metrics: ReturnType<typeof metricsIn>
  readonly #attempts = new Map<JobId, Attempt>()

  constructor(engine: Engine, registry: Registry) {
    this.#view = engine.view
    this.#metrics = metricsIn(registry)
  }

  see(event: EngineEvent): void {
    const { type, at } = event
    if (type === 'jobEnqueued') {
      this.totals.enqueued++
      this.rates.enqueued.add(at)
      this.#metrics.enqueued.inc({ kind: this.#view.job(event.jobId)?.kind ?? 'unknown' })
    } else if (type === 'jobAssigned') this.#assigned(event.jobId, at)
    else if (type === 'jobCompleted') this.#completed(event.jobId, at)
    else if (type === 'jobRequeued') this.#over('requeued', event)
    else if (type === 'jobFailed') this.#over('failed', event)
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
    this.#metrics[outcome].inc({ reason })
    this.#ended(jobId, at, outcome)
  }

  #assigned(jobId: JobId, at: number): void {
    this.totals.assigned++
    this.rates.assigned.add(at)
    const job = this.#view.job(jobId)
    if (job === null) return
    const { kind, caller, units, enqueueTs } = job
    this.shares.add(caller, units, at)
    this.#metrics.assigned.inc({ kind })
    this.#metrics.waited.observe({ kind }, (at - enqueueTs) / 1_000)
    if (this.#attempts.size < ATTEMPTS_MAX) this.#attempts.set(jobId, { kind, at })
  }

  #completed(jobId: JobId, at: number): void {
    this.totals.completed++
    this.rates.completed.add(at)
    const attempt = this.#attempts.get(jobId)
    this.#metrics.completed.inc({ kind: attempt?.kind ?? 'unknown' })
    if (attempt !== undefined) {
      this.#metrics.worked.observe({ kind: attempt.kind }, (at - attempt.at) / 1_000)
    }
    this.#ended(jobId, at, 'completed')
  }

  #ended(jobId: JobId, at: number, outcome: string): void {
    const attempt = this.#attempts.get(jobId)
    if (attempt === undefined) return
    this.#attempts.delete(jobId)
    this.#metrics.leased.observe({ outcome }, (at - attempt.at) / 1_000)
  }
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
