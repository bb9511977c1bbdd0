import { randomBytes } from 'node:crypto'
import {
  type Clock,
  FairleadError,
  invalidParams,
  type Limiter,
  type ReserveAnswer,
  UNKNOWN_RETRY_MS,
  wholeNumber,
} from '@fairlead/core'
import { systemClock } from '../clock.ts'
import { knownFields } from '../known-fields.ts'
import { controllerOf, executeEntry } from './execute-entry.ts'
import { type Feedback, type FeedbackSource, readFeedback } from './feedback.ts'
import { bookForeignUse } from './foreign-use.ts'
import {
  actualsOf,
  checkedJob,
  checkName,
  modelKeys,
  requirementsOf,
  type SchedulerJob,
  utf8Bytes,
} from './job.ts'
import { Entry, ModelQueue, RunningEntries, type TenantQueue } from './model-queue.ts'

export interface SchedulerObserver {
  readonly onDenied?: (event: {
    readonly provider: string
    readonly model: string
    readonly key: string
    readonly retryAfterMs: number
  }) => void
  /** The limiter did not answer; the same reserve is made again. */
  readonly onUnknown?: (event: { readonly leaseId: string; readonly detail: string }) => void
  /** What a job held could not be given back; it ends by itself. */
  readonly onCompleteFailed?: (event: { readonly leaseId: string }) => void
}

export interface SchedulerOptions extends SchedulerObserver {
  readonly limiter: Limiter
  /** Jobs that run, or ask whether they may, at one time. */
  readonly workers: number
  /** Tokens of a prompt; its bytes unless given, which are never fewer. */
  readonly estimateTokens?: (prompt: string, model: string) => number
  /** 0 to 1, for the jitter of waits. */
  readonly random?: () => number
  readonly clock?: Clock
}

export interface Scheduler {
  /** The job's value, once it ran. */
  submit<T>(job: SchedulerJob<T>, options?: { readonly signal?: AbortSignal }): Promise<T>
  /** What a provider said in an answer or an error: waits, and less quota than configured. */
  feedback(
    to: { readonly provider: string; readonly model: string },
    source: FeedbackSource,
  ): Promise<Feedback>
  /**
   * Takes no more, refuses what never ran with `SchedulerClosed`, and waits for what runs; after `deadline` ms
   * that is told to stop. Gives the number of jobs that still ran then.
   */
  shutdown(options?: { readonly deadline?: number }): Promise<{ readonly running: number }>
}

const JITTER_MAX_MS = 25
const COMPLETE_TRIES_MAX = 50

const OPTIONS = [
  'limiter',
  'workers',
  'estimateTokens',
  'random',
  'clock',
  'onDenied',
  'onUnknown',
  'onCompleteFailed',
] as const

export function createScheduler(given: SchedulerOptions): Scheduler {
  const options = knownFields('options', given, OPTIONS)
  wholeNumber('workers', options.workers, { min: 1 })
  if (typeof options.limiter?.reserve !== 'function') {
    throw invalidParams('limiter', 'what createLimiter gives, or another one of that kind')
  }
  return new QueueScheduler(options)
}

/**
 * Queues by model, in each one by tenant, and a number of workers. A model that is used up, or a tenant, is
 * left alone until it may have room again, and the others go on meanwhile (SCHED-1, SCHED-3).
 */
class QueueScheduler implements Scheduler {
  readonly #options: SchedulerOptions
  readonly #clock: Clock
  readonly #queues = new Map<string, ModelQueue>()
  /** Queues with a job that may go now, in the order of their turns. */
  readonly #ready = new Set<ModelQueue>()
  readonly #running = new RunningEntries()
  /** Queues with jobs that may go later, when their time has come. */
  readonly #later = new Set<ModelQueue>()
  /** Lease ids are this and a number: as unique as a UUID for each, shorter, and much cheaper. */
  readonly #name = randomBytes(16).toString('base64url')
  #leases = 0
  #idle: number
  #lastQueue: ModelQueue | null = null
  #isClosed = false
  #timer: { readonly at: number; readonly cancel: () => void } | null = null
  #onQuiet: (() => void) | null = null
  /** Completes under way. */
  #completing = 0

  constructor(options: SchedulerOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#idle = options.workers
  }

  submit<T>(job: SchedulerJob<T>, { signal }: { readonly signal?: AbortSignal } = {}): Promise<T> {
    return new Promise<unknown>((resolve, reject) => {
      const { estimateTokens = utf8Bytes } = this.#options
      const checked = checkedJob(job, estimateTokens)
      if (this.#isClosed) throw closed()
      const queue = this.#queueOf(checked.provider, checked.model)
      const entry = new Entry(queue, checked, resolve, reject)
      if (signal !== undefined) this.#abortBy(signal, entry)
      queue.tenant(entry.tenant).add(entry)
      this.#offer(queue)
      this.#pump()
    }) as Promise<T>
  }

  async feedback(
    to: { readonly provider: string; readonly model: string },
    source: FeedbackSource,
  ): Promise<Feedback> {
    const { provider, model } = knownFields('to', to, ['provider', 'model'])
    checkName('provider', provider)
    checkName('model', model)
    const now = this.#clock.now()
    const feedback = readFeedback(source, now)
    if (feedback.retryAfterMs !== null) {
      const queue = this.#queueOf(provider, model)
      this.#hold(queue, now + feedback.retryAfterMs, false)
      this.#offer(queue)
      this.#setTimer()
    }
    await bookForeignUse(this.#options.limiter, modelKeys(provider, model), feedback)
    return feedback
  }

  async shutdown({ deadline }: { readonly deadline?: number } = {}): Promise<{ running: number }> {
    if (deadline !== undefined) wholeNumber('deadline', deadline, { min: 0 })
    this.#isClosed = true
    this.#timer?.cancel()
    this.#timer = null
    for (const queue of this.#queues.values()) {
      for (const entry of queue.waiting()) this.#end(entry, () => entry.reject(closed()))
    }
    if (!this.#isQuiet()) {
      await new Promise<void>((resolve) => {
        const cancel =
          deadline === undefined
            ? () => {}
            : this.#clock.wakeAt(this.#clock.now() + deadline, resolve)
        this.#onQuiet = () => {
          cancel()
          resolve()
        }
      })
    }
    for (const entry of this.#running) controllerOf(entry).abort(closed())
    return { running: this.#running.size }
  }

  #abortBy(signal: AbortSignal, entry: Entry): void {
    signal.throwIfAborted()
    const abort = (): void => this.#abort(entry, signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    // One signal may be that of very many jobs.
    entry.stopListening = () => signal.removeEventListener('abort', abort)
  }

  /** Gives work to idle workers, queue by queue. */
  #pump(): void {
    while (this.#idle > 0 && !this.#isClosed) {
      const queue: ModelQueue | undefined = this.#ready.values().next().value
      if (queue === undefined) break
      this.#ready.delete(queue)
      const turn = queue.next(this.#clock.now())
      if (turn === null) this.#offer(queue)
      else this.#ask(queue, turn.tenant, turn.entry)
    }
    this.#setTimer()
    if (this.#isClosed) this.#tellQuiet()
  }

  #ask(queue: ModelQueue, tenant: TenantQueue, entry: Entry): void {
    entry.leaseId ||= `${this.#name}-${this.#leases++}`
    queue.isAsking = true
    this.#idle--
    const { leaseId } = entry
    this.#options.limiter
      .reserve({ leaseId, requirements: requirementsOf(entry, queue.needs) })
      .then(
        (answer) => this.#answered(queue, tenant, entry, answer),
        (error: unknown) => this.#failed(queue, entry, error),
      )
  }

  /** What the limiter refuses for good will not be answered otherwise; all else may have been decided. */
  #failed(queue: ModelQueue, entry: Entry, error: unknown): void {
    if (!(error instanceof FairleadError) || error.retryable) {
      this.#unknown(queue, entry, String(error))
      return
    }
    this.#idle++
    queue.isAsking = false
    this.#end(entry, () => entry.reject(error))
    this.#offer(queue)
    this.#pump()
  }

  #answered(queue: ModelQueue, tenant: TenantQueue, entry: Entry, answer: ReserveAnswer): void {
    const { allowed, error, deniedKey, retryAfterMs } = answer
    if (error === 'backend_error') return this.#unknown(queue, entry, answer.detail ?? error)
    entry.isUnknown = false
    this.#idle++
    queue.isAsking = false
    if (allowed && entry.isOver) this.#complete(queue, entry.leaseId, [])
    else if (allowed) this.#run(queue, tenant, entry)
    else if (error === 'lease_already_denied' || error === 'lease_finished') {
      // The answer to an earlier try was lost; this is another attempt.
      entry.leaseId = ''
    } else if (retryAfterMs === 0) this.#end(entry, () => entry.reject(refusedForGood(answer)))
    else this.#denied(queue, tenant, entry, deniedKey ?? '', retryAfterMs)
    this.#offer(queue)
    this.#pump()
  }

  /** The job keeps its place; whoever's key it is waits, with one jitter for all (SCHED-3). */
  #denied(
    queue: ModelQueue,
    tenant: TenantQueue,
    entry: Entry,
    key: string,
    retryAfterMs: number,
  ): void {
    const { provider, model } = queue
    entry.leaseId = ''
    const { random = Math.random, onDenied } = this.#options
    const jitter = Math.min(JITTER_MAX_MS, Math.floor(random() * 0.1 * retryAfterMs))
    const until = this.#clock.now() + retryAfterMs + jitter
    if (key.startsWith('tenant:')) tenant.notBefore = Math.max(tenant.notBefore, until)
    else this.#hold(queue, until, key === queue.keys.concurrency)
    onDenied?.({ provider, model, key, retryAfterMs })
  }

  /** The longer wait counts: the end of a job does not lift one that is for something else. */
  #hold(queue: ModelQueue, until: number, waitsForEnd: boolean): void {
    this.#ready.delete(queue)
    if (until < queue.notBefore) return
    queue.notBefore = until
    queue.waitsForEnd = waitsForEnd
  }

  /** Perhaps it is held, perhaps not: only the same id can tell (SCHED-4). */
  #unknown(queue: ModelQueue, entry: Entry, detail: string): void {
    this.#idle++
    queue.isAsking = false
    entry.isUnknown = true
    this.#options.onUnknown?.({ leaseId: entry.leaseId, detail })
    if (entry.isOver) this.#complete(queue, entry.leaseId, [])
    this.#hold(queue, this.#clock.now() + UNKNOWN_RETRY_MS, false)
    this.#offer(queue)
    this.#pump()
  }

  #run(queue: ModelQueue, tenant: TenantQueue, entry: Entry): void {
    tenant.shift()
    entry.isOver = true
    this.#idle--
    this.#running.add(entry)
    executeEntry(entry, (isDone, result, actualTokens) => {
      if (isDone) entry.resolve(result)
      else entry.reject(result)
      this.#ended(queue, entry, actualTokens)
    })
  }

  #ended(queue: ModelQueue, entry: Entry, actualTokens: number | undefined): void {
    entry.stopListening?.()
    this.#running.delete(entry)
    this.#idle++
    this.#complete(queue, entry.leaseId, actualsOf(entry, queue.keys, actualTokens))
    this.#pump()
  }

  /** Again and again while the limiter is away: what is held must be given back (SCHED-5). */
  #complete(
    queue: ModelQueue,
    leaseId: string,
    actuals: ReturnType<typeof actualsOf>,
    tries = 1,
  ): void {
    this.#completing++
    const failed = (): void => this.#completeLater(queue, leaseId, actuals, tries)
    this.#options.limiter.complete({ leaseId, actuals }).then(({ error }) => {
      if (error === 'backend_error') return failed()
      this.#completing--
      if (queue.waitsForEnd) {
        queue.notBefore = 0
        queue.waitsForEnd = false
        this.#offer(queue)
        this.#pump()
      }
      this.#tellQuiet()
    }, failed)
  }

  #completeLater(
    queue: ModelQueue,
    leaseId: string,
    actuals: ReturnType<typeof actualsOf>,
    tries: number,
  ): void {
    this.#completing--
    if (tries >= COMPLETE_TRIES_MAX) this.#options.onCompleteFailed?.({ leaseId })
    else {
      this.#completing++
      this.#clock.wakeAt(this.#clock.now() + UNKNOWN_RETRY_MS, () => {
        this.#completing--
        this.#complete(queue, leaseId, actuals, tries + 1)
      })
    }
    this.#tellQuiet()
  }

  #abort(entry: Entry, reason: unknown): void {
    if (entry.runsAt >= 0) controllerOf(entry).abort(reason)
    else this.#end(entry, () => entry.reject(reason))
  }

  #end(entry: Entry, answer: () => void): void {
    if (entry.isOver) return
    entry.isOver = true
    entry.stopListening?.()
    answer()
    // A reserve whose answer was lost may hold something.
    if (entry.isUnknown) this.#complete(entry.queue, entry.leaseId, [])
  }

  /** Into the line of those that may go, or of those that may later, if something of it waits. */
  #offer(queue: ModelQueue): void {
    if (queue.isAsking) return
    const at = queue.readyAt()
    if (this.#later.size > 0) this.#later.delete(queue)
    if (at <= this.#clock.now()) this.#ready.add(queue)
    else if (at !== Number.POSITIVE_INFINITY) this.#later.add(queue)
  }

  /** One timer, for the queue that may go first (SCHED-6). */
  #setTimer(): void {
    let earliest = Number.POSITIVE_INFINITY
    for (const queue of this.#later) earliest = Math.min(earliest, queue.readyAt())
    if (this.#isClosed || (this.#timer?.at ?? Number.POSITIVE_INFINITY) === earliest) return
    this.#timer?.cancel()
    this.#timer = null
    if (earliest === Number.POSITIVE_INFINITY) return
    const cancel = this.#clock.wakeAt(earliest, () => {
      this.#timer = null
      for (const queue of [...this.#later]) this.#offer(queue)
      this.#pump()
    })
    this.#timer = { at: earliest, cancel }
  }

  #queueOf(provider: string, model: string): ModelQueue {
    // Jobs of one model mostly come one after the other, and to glue two names together costs more than that.
    const last = this.#lastQueue
    if (last !== null && last.provider === provider && last.model === model) return last
    const key = `${provider.length} ${provider} ${model}`
    let queue = this.#queues.get(key)
    if (queue === undefined) {
      queue = new ModelQueue(provider, model)
      this.#queues.set(key, queue)
    }
    this.#lastQueue = queue
    return queue
  }

  /** Nothing runs, and nothing is asked for or completed whose answer is still to come. */
  #isQuiet(): boolean {
    if (this.#running.size > 0 || this.#completing > 0) return false
    return [...this.#queues.values()].every(({ isAsking }) => !isAsking)
  }

  #tellQuiet(): void {
    if (this.#onQuiet !== null && this.#isQuiet()) this.#onQuiet()
  }
}

function closed(): FairleadError {
  return new FairleadError('SchedulerClosed', 'the scheduler is shut down and takes no more jobs')
}

function refusedForGood({ error, deniedKey, detail }: ReserveAnswer): FairleadError {
  const isTooLarge = error?.startsWith('exceeds_capacity:') === true
  const text = isTooLarge
    ? `${error}: the job alone is more than the limit allows; make it smaller or raise the limit`
    : `${error}: ${detail ?? 'define the limit before jobs need it'}`
  return new FairleadError(isTooLarge ? 'LimitExceeded' : 'InvalidParams', text, {
    error,
    deniedKey,
  })
}
