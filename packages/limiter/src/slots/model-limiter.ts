import {
  type Clock,
  FairleadError,
  invalidParams,
  type JobEstimate,
  MINUTE_MS,
  type SlotPool,
  WHOLE_PPM,
  wholeNumber,
} from '@fairlead/core/limits'
import { systemClock } from '../clock.ts'
import { knownFields } from '../known-fields.ts'
import { memory } from '../limits/memory/memory-limiter.ts'
import { lazyId } from '../new-id.ts'
import { checkObservers, Observers } from '../observers.ts'
import { type AllocationListener, AllocationWatch, allocationInfoOf } from './allocation-info.ts'
import { costOf, type JobUsage, type Pricing, tokensOf } from './cost.ts'
import {
  type AttemptReport,
  costOfAll,
  JobRejected,
  type Outcome,
  outcomeOf,
  type RunJob,
} from './job-outcome.ts'
import { counterKey, JobTypes } from './job-types.ts'
import {
  type JobType,
  type JobTypeOptions,
  type ModelLimiterEvents,
  type ModelOptions,
  readJobType,
  readModel,
} from './model-options.ts'
import type { ModelPools, PoolBackend } from './model-pools.ts'
import { type ModelLimiterStats, statsOf } from './model-stats.ts'
import { PoolView } from './pool-view.ts'
import { type Adjusting, type RatioAdjustmentConfig, readRatioAdjustment } from './ratio-options.ts'
import { type Asked, StartQueue } from './start-queue.ts'

export interface ModelLimiterOptions extends ModelLimiterEvents {
  readonly models: Readonly<Record<string, ModelOptions>>
  readonly jobTypes: Readonly<Record<string, JobTypeOptions>>
  /** Which model a job tries first, second …; as they are listed unless given. */
  readonly order?: readonly string[]
  /** How slots are counted from the estimates of all types; by their average unless given. */
  readonly estimate?: 'average' | 'max'
  /** Memory that all running jobs share, in KB. */
  readonly memoryKB?: number
  readonly minJobTypeCapacity?: number
  readonly ratioAdjustment?: RatioAdjustmentConfig
  /** `redis(url)`: the models are shared with all instances of that Redis and name; else they are this one's. */
  readonly backend?: PoolBackend
  readonly clock?: Clock
}

export interface RunOptions {
  /** Names the job in events and in its context; the limiter makes one unless given. */
  readonly jobId?: string
  readonly jobType: string
  /** The models to try, in order, in place of the limiter's. */
  readonly models?: readonly string[]
  readonly signal?: AbortSignal
}

export interface RunResult<T> {
  readonly data: T
  readonly jobId: string
  readonly model: string
  /** Of all attempts, by the prices given. */
  readonly cost: number
  /** One for each model that the job ran on, in order. */
  readonly attempts: readonly AttemptReport[]
  readonly waitedMs: number
}

export interface ModelLimiter {
  run<T>(options: RunOptions, job: RunJob<T>): Promise<RunResult<T>>
  stats(): ModelLimiterStats
  /**
   * Tells the listener how the models are divided: at once, or as soon as this instance knows it, and then each change
   * until the function that it gives is called. A listener has a timer for new windows, as long as it is subscribed.
   */
  onAllocation(listener: AllocationListener): () => void
  /** Whoever still waits is refused, what runs goes on. Resolves when that has ended. */
  close(): Promise<void>
}

/** The wait for a model ends this long after the next minute has begun. */
const DEFAULT_GRACE_MS = 5_000
/** The most starts that are asked for in one step. */
const ASK_MAX = 100
/** Of a job that never ran. */
const NO_USAGE: JobUsage = { requests: 0 }
const NONE: Asked = { refs: [], isRefused: true }
const RUN_OPTIONS = ['jobId', 'jobType', 'models', 'signal'] as const
const OBSERVERS = ['onOverage', 'onPoolChange', 'onRatioChange', 'onAttempt', 'onError'] as const

const OPTIONS = [
  'models',
  'jobTypes',
  'order',
  'estimate',
  'memoryKB',
  'minJobTypeCapacity',
  'ratioAdjustment',
  'backend',
  'clock',
  ...OBSERVERS,
] as const

export function createModelLimiter(options: ModelLimiterOptions): ModelLimiter {
  return new JobModelLimiter(knownFields('options', options, OPTIONS))
}

class JobModelLimiter implements ModelLimiter {
  readonly #options: ModelLimiterOptions
  readonly #clock: Clock
  readonly #models: readonly string[]
  readonly #order: readonly string[]
  readonly #adjusting: Adjusting
  readonly #pools: ModelPools
  readonly #types: ReadonlyMap<string, JobType>
  readonly #jobTypes: JobTypes
  readonly #queues = new Map<string, StartQueue>()
  /** Starts that are being asked for, by model. */
  readonly #asking = new Map<string, number>()
  /** Types that would borrow, and let another ask first, by model (SLOT-18). */
  readonly #deferring = new Map<string, Set<StartQueue>>()
  readonly #observers: Observers
  /** Lease ids are this and the reference of a start. */
  readonly #name = lazyId()
  #jobs = 0
  readonly #active = new Map<string, { model: string; jobType: string; startedAt: number }>()
  readonly #allocations: AllocationWatch
  #releases = 0
  #isClosed = false
  #onIdle: (() => void) | null = null
  #cancelTimer: (() => void) | null = null
  #nextAdjustAt: number

  constructor(options: ModelLimiterOptions) {
    this.#options = options
    checkObservers(options, OBSERVERS)
    this.#observers = new Observers(options.onError)
    const models = named('models', options.models)
    const limits = new Map(models.map(([name, one]) => [name, readModel(name, one)]))
    const types = named('jobTypes', options.jobTypes).map(([name, one]) =>
      readJobType(name, one, limits),
    )
    this.#types = new Map(types.map((type) => [type.name, type]))
    this.#models = [...limits.keys()]
    this.#order = this.#checkedOrder('order', options.order ?? this.#models)
    this.#adjusting = readRatioAdjustment(options.ratioAdjustment)
    const { minJobTypeCapacity = 1, memoryKB } = options
    this.#jobTypes = new JobTypes({
      types,
      policy: this.#adjusting,
      minCapacity: wholeNumber('minJobTypeCapacity', minJobTypeCapacity, { min: 0 }),
      memoryKB: memoryKB === undefined ? null : wholeNumber('memoryKB', memoryKB, { min: 0 }),
    })
    const { backend = memory(), clock = systemClock, estimate = 'average' } = options
    if (estimate !== 'average' && estimate !== 'max')
      throw invalidParams('estimate', 'average or max')
    if (typeof backend.openPools !== 'function') {
      throw invalidParams('backend', 'memory() or redis(url)')
    }
    const estimates = types.map((type) => type.estimate)
    this.#pools = backend.openPools({
      limits,
      view: () => new PoolView({ estimates, estimate }),
      clock,
      onChange: (model) => this.#onPoolChange(model),
    })
    this.#clock = this.#pools.clock
    this.#nextAdjustAt = this.#clock.now() + this.#adjusting.intervalMs
    this.#allocations = new AllocationWatch({
      clock: this.#clock,
      current: () => allocationInfoOf(this.#models, this.#pools, this.#clock.now()),
      call: (listener, info) => this.#observers.tell('onAllocation', listener, info),
    })
  }

  async run<T>(options: RunOptions, job: RunJob<T>): Promise<RunResult<T>> {
    const { jobId: given, jobType, models, signal } = knownFields('options', options, RUN_OPTIONS)
    const type = this.#types.get(jobType)
    if (type === undefined) {
      throw invalidParams('jobType', listed([...this.#types.keys()]), String(jobType))
    }
    if (given !== undefined && (typeof given !== 'string' || given === '')) {
      throw invalidParams('jobId', 'a name, or leave it out')
    }
    const order = models === undefined ? this.#order : this.#checkedOrder('models', models)
    if (typeof job !== 'function') throw invalidParams('job', 'a function')

    const jobId = given ?? `${this.#name()}-job-${this.#jobs++}`
    const started = this.#clock.now()
    const reasons: { model: string; reason: string }[] = []
    const attempts: AttemptReport[] = []
    let waitedMs = 0
    for (const model of order) {
      const askedAt = this.#clock.now()
      const ref = await this.#start(type, model, signal)
      waitedMs += this.#clock.now() - askedAt
      if (ref === null) {
        reasons.push({ model, reason: this.#whyNot(type, model) })
        continue
      }
      const ended = await this.#attempt(type, { jobId, model, ref, attempts }, job)
      if (ended.state === 'done') {
        const cost = costOfAll(attempts)
        return { data: ended.data, jobId, model, cost, attempts, waitedMs }
      }
      if (ended.state === 'failed') {
        if (ended.error instanceof JobRejected) ended.error.attempts = attempts
        throw ended.error
      }
      reasons.push({ model, reason: 'rejected by the job' })
    }
    throw refused({ jobId, jobType, reasons, attempts, waitedMs: this.#clock.now() - started })
  }

  stats(): ModelLimiterStats {
    return statsOf({
      nowMs: this.#clock.now(),
      models: this.#models,
      pools: this.#pools,
      types: this.#types,
      jobTypes: this.#jobTypes,
      waiting: (type, model) => this.#queues.get(counterKey(type, model))?.size ?? 0,
      active: [...this.#active.values()],
    })
  }

  onAllocation(listener: AllocationListener): () => void {
    if (typeof listener !== 'function') throw invalidParams('listener', 'a function')
    return this.#allocations.subscribe(listener)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#allocations.close()
    this.#cancelTimer?.()
    this.#cancelTimer = null
    for (const queue of this.#queues.values()) queue.clear()
    await Promise.all([...this.#queues.values()].map((queue) => queue.whenIdle()))
    if (this.#active.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    }
    await this.#pools.close()
  }

  #whyNot(type: JobType, model: string): string {
    if (this.#isClosed) return 'closed'
    return this.#queueOf(type, model).trouble ?? 'no capacity in time'
  }

  /** A reference to what was started, or null if there was no capacity in time. */
  async #start(
    type: JobType,
    model: string,
    signal: AbortSignal | undefined,
  ): Promise<string | null> {
    signal?.throwIfAborted()
    if (this.#isClosed) return null
    const now = this.#clock.now()
    // What was due while nothing waited and nothing ran.
    if (now >= this.#nextAdjustAt) this.#adjust()
    const untilMs =
      type.maxWaitMs === null
        ? now - (now % MINUTE_MS) + MINUTE_MS + DEFAULT_GRACE_MS
        : now + type.maxWaitMs
    const pending = this.#queueOf(type, model).wait(untilMs, signal)
    this.#setTimer()
    const ref = await pending
    this.#wakeDeferring(model)
    if (ref === null) signal?.throwIfAborted()
    return ref
  }

  /** Every counter of the type below its slots, and the whole estimate within the model's limits (SLOT-6). */
  async #ask(type: JobType, model: string, waiting: number): Promise<Asked> {
    if (this.#pools.view(model).allocation === null) await this.#pools.join(model)
    const now = this.#clock.now()
    const counted = this.#countStarts(type, model, Math.min(waiting, ASK_MAX), now)
    if (counted === 0) return NONE
    let refs: readonly string[] = []
    this.#asking.set(model, this.#asksOf(model) + 1)
    try {
      refs = await this.#pools.acquire(model, type.estimate, counted)
    } finally {
      this.#asking.set(model, this.#asksOf(model) - 1)
      this.#wakeDeferring(model)
      for (let i = refs.length; i < counted; i++) this.#jobTypes.takeBack(type.name, model, now)
    }
    this.#allocations.changed()
    const startedAt = this.#clock.now()
    for (const ref of refs) this.#active.set(ref, { model, jobType: type.name, startedAt })
    return { refs, isRefused: refs.length < counted }
  }

  /** How many of that many may start by the counters of this instance; they are counted. */
  #countStarts(type: JobType, model: string, most: number, now: number): number {
    const view = this.#pools.view(model)
    if (!view.mayFit(type.estimate, now)) return 0
    const pool = view.pool(now)
    let counted = 0
    while (counted < most && this.#jobTypes.start(type, model, pool, now)) counted++
    if (counted > 0) return counted
    if (this.#mustDefer(type, model, pool, now)) {
      this.#deferringOn(model).add(this.#queueOf(type, model))
      return 0
    }
    const left = view.left(now)
    while (
      counted < most &&
      this.#jobTypes.borrow(type, model, { pool, left, ahead: counted }, now)
    ) {
      counted++
    }
    if (counted > 0) return counted
    const { inFlight } = this.#pools.own(model)
    if (!view.mayTakeCommon(type.estimate, inFlight, now)) return 0
    return this.#jobTypes.startOfCommon(type, model, now) ? 1 : 0
  }

  /**
   * A borrower comes after every type that waits with free slots of its own (SLOT-18). It also comes after starts that
   * are being asked for: they are counted by their types, and not yet in what is left of the model.
   */
  #mustDefer(borrower: JobType, model: string, pool: SlotPool, now: number): boolean {
    if (this.#asksOf(model) > 0) return true
    for (const type of this.#types.values()) {
      const isWaiting = (this.#queues.get(counterKey(type.name, model))?.size ?? 0) > 0
      if (type === borrower || !isWaiting) continue
      const canStart = this.#pools.view(model).canEverFit(type.estimate)
      if (canStart && this.#jobTypes.hasRoom(type, model, pool, now)) return true
    }
    return false
  }

  #asksOf(model: string): number {
    return this.#asking.get(model) ?? 0
  }

  #deferringOn(model: string): Set<StartQueue> {
    let queues = this.#deferring.get(model)
    if (queues === undefined) {
      queues = new Set()
      this.#deferring.set(model, queues)
    }
    return queues
  }

  #wakeDeferring(model: string): void {
    const queues = this.#deferring.get(model)
    if (queues === undefined || queues.size === 0) return
    this.#deferring.delete(model)
    wakeInTurn(queues)
  }

  async #attempt<T>(
    type: JobType,
    run: {
      readonly jobId: string
      readonly model: string
      readonly ref: string
      /** Those before; this one is added. */
      readonly attempts: AttemptReport[]
    },
    job: RunJob<T>,
  ): Promise<Outcome<T>> {
    const { jobId, model, ref, attempts } = run
    const leaseId = this.#leaseId(ref)
    const attempt = attempts.length + 1
    const pricing: Pricing = this.#options.models[model]?.pricing ?? {}
    const ended = await outcomeOf(job, { model, jobId, leaseId, attempt })
    const { state, usage } = ended
    const overage = this.#release(type, model, ref, usage)
    const cost = usage === undefined ? 0 : costOf(usage, pricing)
    const report = { attempt, leaseId, model, state, usage: usage ?? null, cost }
    attempts.push(report)
    const { onAttempt, onOverage } = this.#options
    if (overage.tokens > 0 || overage.requests > 0) {
      const event = { jobId, leaseId, model, jobType: type.name, overage }
      this.#observers.tell('onOverage', onOverage, event)
    }
    this.#observers.tell('onAttempt', onAttempt, { ...report, jobId, jobType: type.name })
    return ended
  }

  #leaseId(ref: string): string {
    return `${this.#name()}-${ref}`
  }

  /** Gives back what was started, and tells what it used beyond its estimate. */
  #release(type: JobType, model: string, ref: string, usage: JobUsage | undefined): JobEstimate {
    const actual = usage && { tokens: tokensOf(usage), requests: usage.requests ?? 1 }
    const overage = this.#pools.release(model, ref, actual ?? null)
    this.#active.delete(ref)
    this.#jobTypes.finish(type.name, model, this.#clock.now())
    this.#tellPool(model)
    this.#releases++
    if (this.#releases % this.#adjusting.releases === 0) this.#adjust()
    this.#wakeAll()
    if (this.#active.size === 0) this.#onIdle?.()
    return overage
  }

  #onPoolChange(model: string): void {
    this.#tellPool(model)
    for (const type of this.#types.keys()) this.#queues.get(counterKey(type, model))?.wake()
  }

  #tellPool(model: string): void {
    const pool = this.#pools.view(model).pool(this.#clock.now())
    this.#observers.tell('onPoolChange', this.#options.onPoolChange, { model, pool })
    this.#allocations.changed()
  }

  #adjust(): void {
    const now = this.#clock.now()
    this.#nextAdjustAt = now + this.#adjusting.intervalMs
    const pools = new Map(this.#models.map((model) => [model, this.#pools.view(model).pool(now)]))
    if (!this.#jobTypes.adjust(pools, now)) return
    const shown = [...this.#jobTypes.ratios].map(([name, ratio]) => [name, ratio / WHOLE_PPM])
    this.#observers.tell(
      'onRatioChange',
      this.#options.onRatioChange,
      Object.fromEntries(shown) as Record<string, number>,
    )
  }

  #wakeAll(): void {
    wakeInTurn(this.#queues.values())
  }

  /** One timer, for the next minute or the next adjustment, as long as anyone waits or runs. */
  #setTimer(): void {
    const isBusy = this.#active.size > 0 || [...this.#queues.values()].some(({ size }) => size > 0)
    if (!isBusy || this.#isClosed || this.#cancelTimer !== null) return
    const now = this.#clock.now()
    const at = Math.min(now - (now % MINUTE_MS) + MINUTE_MS, Math.max(now + 1, this.#nextAdjustAt))
    this.#cancelTimer = this.#clock.wakeAt(at, () => {
      this.#cancelTimer = null
      if (this.#clock.now() >= this.#nextAdjustAt) this.#adjust()
      this.#wakeAll()
      this.#setTimer()
    })
  }

  #queueOf(type: JobType, model: string): StartQueue {
    const key = counterKey(type.name, model)
    let queue = this.#queues.get(key)
    if (queue === undefined) {
      queue = new StartQueue({
        clock: this.#clock,
        ask: (waiting) => this.#ask(type, model, waiting),
        giveBack: (ref) => {
          this.#release(type, model, ref, NO_USAGE)
        },
      })
      this.#queues.set(key, queue)
    }
    return queue
  }

  #checkedOrder(field: string, models: readonly string[]): readonly string[] {
    if (!Array.isArray(models) || models.length === 0) {
      throw invalidParams(field, `a list with ${listed(this.#models)}`)
    }
    const unknown = models.find((model) => !this.#models.includes(model))
    if (unknown !== undefined) throw invalidParams(field, listed(this.#models), String(unknown))
    if (new Set(models).size < models.length) throw invalidParams(field, 'each model once')
    return models
  }
}

/** First come, first served also among types: who has waited longest asks first for what several want. */
function wakeInTurn(queues: Iterable<StartQueue>): void {
  const waiting = [...queues].filter(({ size }) => size > 0)
  for (const queue of waiting.sort((a, b) => a.sinceMs - b.sinceMs)) queue.wake()
}

/** Names and what they stand for; there has to be one at least. */
function named<T extends object>(
  field: string,
  given: Readonly<Record<string, T>>,
): readonly [name: string, T][] {
  const entries = Object.entries(given ?? {})
  if (entries.length === 0) throw invalidParams(field, 'an object with at least one name')
  return entries
}

/** With each attempt that ran, and what they cost. */
function refused(details: {
  readonly jobId: string
  readonly jobType: string
  readonly reasons: readonly { readonly model: string; readonly reason: string }[]
  readonly attempts: readonly AttemptReport[]
  readonly waitedMs: number
}): FairleadError {
  const { jobType, reasons, attempts } = details
  const why = reasons.map(({ model, reason }) => `${model}: ${reason}`).join('; ')
  const text = `no model took this ${jobType} job (${why}); try later, or allow a longer maxWaitMs`
  return new FairleadError('RateLimited', text, { ...details, cost: costOfAll(attempts) })
}

function listed(known: readonly string[]): string {
  return `one of ${known.join(', ')}`
}
