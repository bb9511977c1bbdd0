import type { WireEvent } from '@fairlead/client'
import type { LiveJob } from './live-jobs.ts'

/** What became of one job. */
export interface LiveOutcome {
  readonly taskId: string
  readonly job: LiveJob
  status: 'QUEUED' | 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'CANCELED'
  enqueuedAt: number
  /** Of the first assignment. */
  assignedAt: number | null
  endedAt: number | null
  attempts: number
}

export interface ProviderCounts {
  completed: number
  failed: number
  declined: number
  /** Leases that were taken from it because its worker was gone. */
  lost: number
}

const ENDS = {
  jobCompleted: 'COMPLETED',
  jobFailed: 'FAILED',
  jobExpired: 'EXPIRED',
  jobCanceled: 'CANCELED',
} as const

const EARLY_MAX = 10_000

/** Counts what the events of a server tell. Jobs of others are not counted. */
export class Tally {
  readonly outcomes = new Map<string, LiveOutcome>()
  readonly providers = new Map<string, ProviderCounts>()
  readonly requeues = new Map<string, number>()
  /** Providers of which a worker has come. */
  readonly connected = new Set<string>()
  readonly #holders = new Map<string, string>()
  readonly #early = new Map<string, WireEvent[]>()
  #ended = 0
  #wake: () => void = () => {}

  get ended(): number {
    return this.#ended
  }

  /** A receipt came; the events of the job may have come before it. */
  expect(taskId: string, job: LiveJob): void {
    this.#outcome(taskId, job)
    const early = this.#early.get(taskId) ?? []
    this.#early.delete(taskId)
    for (const event of early) this.take(event)
  }

  /** Resolves when it is so, or with the signal. */
  async until(isSo: () => boolean, signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wake(), { once: true })
    while (!isSo() && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  take(event: WireEvent): void {
    if (event.type === 'leaseCancelled') this.#leaseEnded(event)
    if (event.type === 'workerConnected') this.connected.add(event.providerId)
    if (!('jobId' in event)) this.#wake()
    else this.#takeJob(event)
  }

  #takeJob(event: WireEvent & { readonly jobId: string }): void {
    const outcome = this.outcomes.get(event.jobId)
    if (outcome !== undefined) this.#note(outcome, event)
    else this.#keep(event.jobId, event)
  }

  /** For a receipt that may be on its way; others' jobs get none, and are forgotten in time. */
  #keep(jobId: string, event: WireEvent): void {
    const early = this.#early.get(jobId) ?? []
    early.push(event)
    this.#early.set(jobId, early)
    const [oldest] = this.#early.keys()
    if (this.#early.size > EARLY_MAX && oldest !== undefined) this.#early.delete(oldest)
  }

  #note(outcome: LiveOutcome, event: WireEvent): void {
    if (event.type === 'jobEnqueued') outcome.enqueuedAt = event.at
    else if (event.type === 'jobAssigned') {
      outcome.assignedAt ??= event.at
      outcome.attempts++
      this.#holders.set(event.leaseId, event.providerId)
    } else if (event.type === 'jobRequeued') {
      this.requeues.set(event.reason, (this.requeues.get(event.reason) ?? 0) + 1)
    } else if (event.type in ENDS) {
      if (event.type === 'jobCompleted') this.#counts(event.providerId).completed++
      this.#end(outcome, event as WireEvent & { readonly type: keyof typeof ENDS })
    }
  }

  #end(
    outcome: LiveOutcome,
    event: { readonly type: keyof typeof ENDS; readonly at: number },
  ): void {
    outcome.status = ENDS[event.type]
    outcome.endedAt = event.at
    this.#ended++
    this.#wake()
  }

  #leaseEnded({ leaseId, reason }: WireEvent & { readonly type: 'leaseCancelled' }): void {
    const holder = this.#holders.get(leaseId)
    if (holder === undefined) return
    const counts = this.#counts(holder)
    if (reason === 'declined') counts.declined++
    else if (reason === 'provider_fail') counts.failed++
    else if (reason === 'worker_lost' || reason === 'disowned') counts.lost++
  }

  #counts(providerId: string): ProviderCounts {
    const known = this.providers.get(providerId)
    if (known !== undefined) return known
    const fresh = { completed: 0, failed: 0, declined: 0, lost: 0 }
    this.providers.set(providerId, fresh)
    return fresh
  }

  #outcome(taskId: string, job: LiveJob): void {
    this.outcomes.set(taskId, {
      taskId,
      job,
      status: 'QUEUED',
      enqueuedAt: 0,
      assignedAt: null,
      endedAt: null,
      attempts: 0,
    })
  }
}
