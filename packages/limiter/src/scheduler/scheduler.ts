import {
  type Clock,
  FairleadError,
  invalidParams,
  type ReserveAnswer,
  UNKNOWN_RETRY_MS,
  utf8Bytes,
  wholeNumber,
} from '@fairlead/core/limits'
import { systemClock } from '../clock.ts'
import { knownFields } from '../known-fields.ts'
import { lazyId } from '../new-id.ts'
import { Observers } from '../observers.ts'
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
} from './job.ts'
import { Entry, ModelQueue, RunningEntries, type TenantQueue } from './model-queue.ts'
import {
  type JobEvent,
  readSchedulerOptions,
  readWorkers,
  type SchedulerOptions,
} from './scheduler-options.ts'

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

const NONE: { readonly signal?: AbortSignal } = {}
const JITTER_MAX_MS = 25
const COMPLETE_TRIES_MAX = 50
/** How a limiter names a key that it has no limit for. */
const UNKNOWN_KEY = 'unknown_limit_key:'

export function createScheduler(options: SchedulerOptions): Scheduler {
  return new QueueScheduler(readSchedulerOptions(options))
}

/**
 * Queues by model, in each one by tenant, and a number of workers for each model. A model that is used up, or a tenant, is
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
  readonly #name = lazyId()
  #leases = 0
  #jobs = 0
  /** Workers of the total that have nothing to do; infinity without a total. */
  #idle: number
  readonly #perModel: number
  readonly #observers: Observers
  #lastQueue: ModelQueue | null = null
  #isClosed = false
  #timer: { readonly at: number; readonly cancel: () => void } | null = null
  #onQuiet: (() => void) | null = null
  /** Completes under way. */
  #completing = 0

  constructor(options: SchedulerOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    const { perModel, total } = readWorkers(options.workers)
    this.#perModel = perModel
    this.#idle = total
    this.#observers = new Observers(options.onError)
  }

  submit<T>(job: SchedulerJob<T>, options: { readonly signal?: AbortSignal } = NONE): Promise<T> {
    return new Promise<unknown>((resolve, reject) => {
      const { signal } = options === NONE ? NONE : knownFields('options', options, ['signal'])
      const { estimateTokens = utf8Bytes } = this.#options
      const checked = checkedJob(job, estimateTokens)
      if (this.#isClosed) throw closed()
      const queue = this.#queueOf(checked.provider, checked.model)
      const entry = new Entry(queue, checked.jobId ?? this.#jobs++, checked, resolve, reject)
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

  async shutdown(options: { readonly deadline?: number } = {}): Promise<{ running: number }> {
    const { deadline } = knownFields('options', options, ['deadline'])
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
    if (!(signal instanceof AbortSignal)) throw invalidParams('signal', 'an AbortSignal')
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
    if (entry.leaseId === '') {
      entry.leaseId = `${this.#name()}-${this.#leases++}`
      entry.attempt++
    }
    // Another list under an id that may be held would be refused.
    if (!entry.isUnknown) {
      entry.asked = requirementsOf(entry, queue.needs, queue.absent(this.#clock.now()))
    }
    queue.isAsking = true
    this.#idle--
    const { limiter } = this.#options
    const { leaseId, asked } = entry
    attempted(() => limiter.reserve({ leaseId, requirements: asked })).then(
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
    if (!entry.isOver && this.#asksForLess(queue, entry, error)) {
      return this.#ask(queue, tenant, entry)
    }
    if (allowed && entry.isOver) this.#complete(entry, [])
    else if (allowed) this.#run(queue, tenant, entry)
    else if (error === 'lease_already_denied' || error === 'lease_finished') {
      // The answer to an earlier try was lost; this is another attempt.
      entry.leaseId = ''
    } else if (retryAfterMs === 0)
      this.#end(entry, () => entry.reject(refusedForGood(queue, answer)))
    else this.#denied(queue, tenant, entry, deniedKey ?? '', retryAfterMs)
    this.#offer(queue)
    this.#pump()
  }

  /** A limit of the model that is not defined is left out, as long as there is another one (SCHED-8). */
  #asksForLess(queue: ModelQueue, entry: Entry, error: string | null): boolean {
    if (error?.startsWith(UNKNOWN_KEY) !== true) return false
    return queue.lacks(error.slice(UNKNOWN_KEY.length), this.#clock.now()) && entry.asked.length > 1
  }

  /** The job keeps its place; whoever's key it is waits, with one jitter for all (SCHED-3). */
  #denied(
    queue: ModelQueue,
    tenant: TenantQueue,
    entry: Entry,
    key: string,
    retryAfterMs: number,
  ): void {
    const event = { ...this.#about(entry), key, retryAfterMs }
    entry.leaseId = ''
    const until = this.#clock.now() + retryAfterMs + this.#jitter(retryAfterMs)
    if (key.startsWith('tenant:')) tenant.notBefore = Math.max(tenant.notBefore, until)
    else this.#hold(queue, until, key === queue.keys.concurrency)
    this.#observers.tell('onDenied', this.#options.onDenied, event)
  }

  /** 0 to 10 %, at most 25 ms; none from a source that fails. */
  #jitter(retryAfterMs: number): number {
    const { random = Math.random } = this.#options
    try {
      const part = random()
      if (!(part >= 0 && part <= 1)) throw invalidParams('random', 'a number from 0 to 1')
      return Math.min(JITTER_MAX_MS, Math.floor(part * 0.1 * retryAfterMs))
    } catch (error) {
      this.#observers.failed('random', error)
      return 0
    }
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
    const event = { ...this.#about(entry), detail }
    if (entry.isOver) this.#complete(entry, [])
    this.#hold(queue, this.#clock.now() + UNKNOWN_RETRY_MS, false)
    this.#observers.tell('onUnknown', this.#options.onUnknown, event)
    this.#offer(queue)
    this.#pump()
  }

  #run(queue: ModelQueue, tenant: TenantQueue, entry: Entry): void {
    tenant.shift()
    entry.isOver = true
    this.#idle--
    queue.running++
    this.#running.add(entry)
    executeEntry(entry, this.#jobId, (isDone, result, actualTokens) => {
      if (isDone) entry.resolve(result)
      else entry.reject(result)
      this.#ended(queue, entry, actualTokens)
    })
  }

  #ended(queue: ModelQueue, entry: Entry, actualTokens: number | undefined): void {
    entry.stopListening?.()
    this.#running.delete(entry)
    this.#idle++
    queue.running--
    this.#complete(entry, actualsOf(entry, entry.asked, queue.keys, actualTokens))
    this.#offer(queue)
    this.#pump()
  }

  /** Again and again while the limiter is away: what is held must be given back (SCHED-5). */
  #complete(entry: Entry, actuals: ReturnType<typeof actualsOf>, tries = 1): void {
    const { queue, leaseId } = entry
    this.#completing++
    const failed = (): void => this.#completeLater(entry, actuals, tries)
    const { limiter } = this.#options
    attempted(() => limiter.complete({ leaseId, actuals })).then(({ error }) => {
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

  #completeLater(entry: Entry, actuals: ReturnType<typeof actualsOf>, tries: number): void {
    this.#completing--
    if (tries >= COMPLETE_TRIES_MAX) {
      this.#observers.tell('onCompleteFailed', this.#options.onCompleteFailed, this.#about(entry))
    } else {
      this.#completing++
      this.#clock.wakeAt(this.#clock.now() + UNKNOWN_RETRY_MS, () => {
        this.#completing--
        this.#complete(entry, actuals, tries + 1)
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
    if (entry.isUnknown) this.#complete(entry, [])
  }

  /** Into the line of those that may go, or of those that may later, if something of it waits. */
  #offer(queue: ModelQueue): void {
    if (this.#later.size > 0) this.#later.delete(queue)
    // It is offered again with the answer, or when one of its jobs ends.
    if (queue.isAsking || queue.running >= this.#perModel) return
    const at = queue.readyAt()
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

  readonly #jobId = ({ id }: Entry): string =>
    typeof id === 'string' ? id : `${this.#name()}-job-${id}`

  #about(entry: Entry): JobEvent {
    const { tenant, leaseId, attempt, queue } = entry
    const { provider, model } = queue
    return { jobId: this.#jobId(entry), leaseId, attempt, tenant, provider, model }
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

/** A limiter of the caller's own may throw at once; that is an outcome like any other. */
function attempted<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call()
  } catch (error) {
    return Promise.reject(error)
  }
}

function refusedForGood(
  { keys }: ModelQueue,
  { error, deniedKey, detail }: ReserveAnswer,
): FairleadError {
  const isTooLarge = error?.startsWith('exceeds_capacity:') === true
  const isOfModel = Object.values(keys).some((key) => error === `${UNKNOWN_KEY}${key}`)
  const advice = isOfModel
    ? `the model has no limit at all; define ${keys.rpm}, its tpm or its concurrency before jobs need it`
    : 'define the limit before jobs need it'
  const text = isTooLarge
    ? `${error}: the job alone is more than the limit allows; make it smaller or raise the limit`
    : `${error}: ${detail ?? advice}`
  return new FairleadError(isTooLarge ? 'LimitExceeded' : 'InvalidParams', text, {
    error,
    deniedKey,
  })
}
