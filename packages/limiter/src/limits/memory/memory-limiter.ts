import {
  type Actual,
  type Clock,
  COMPLETED,
  type CompleteAnswer,
  type CompleteRequest,
  checkLimitBatch,
  checkLimitRequest,
  type Limit,
  type LimitCall,
  type Limiter,
  Limits,
  type LimitsOptions,
  type LimitView,
  type ReserveAnswer,
  type ReserveRequest,
} from '@fairlead/core/limits'
import { systemClock } from '../../clock.ts'
import { knownFields } from '../../known-fields.ts'
import { MemoryPools } from '../../slots/memory/memory-pools.ts'
import type { PoolBackend } from '../../slots/model-pools.ts'
import type { LimiterBackend } from '../limiter-backend.ts'

export interface MemoryOptions
  extends Pick<LimitsOptions, 'rememberMs' | 'leasesMax' | 'actualFactorMax'> {
  readonly clock?: Pick<Clock, 'now'>
}

/** Limits of this process alone; they last as long as the limiter. */
export function memory(options: MemoryOptions = {}): LimiterBackend & PoolBackend {
  knownFields('options', options, ['rememberMs', 'leasesMax', 'actualFactorMax', 'clock'])
  return {
    open: (limits) => new MemoryLimiter(limits, options),
    openPools: (pools) => new MemoryPools(pools),
  }
}

const NO_ACTUALS: readonly Actual[] = []
const DONE = Promise.resolve(COMPLETED)

class MemoryLimiter implements Limiter {
  readonly #clock: Pick<Clock, 'now'>
  readonly #limits: Limits
  /** Answers of one moment are one object; so is the promise of it. */
  #answer: ReserveAnswer | null = null
  #answered: Promise<ReserveAnswer> | null = null

  constructor(limits: readonly Limit[], { clock = systemClock, ...options }: MemoryOptions) {
    this.#clock = clock
    this.#limits = new Limits(options)
    for (const limit of limits) this.#limits.define(limit, clock.now())
  }

  async define(limit: Limit): Promise<LimitView> {
    return this.#limits.define(limit, this.#clock.now())
  }

  async reset(key: string): Promise<LimitView | null> {
    return this.#limits.reset(key, this.#clock.now())
  }

  async delete(key: string): Promise<boolean> {
    return this.#limits.delete(key, this.#clock.now())
  }

  async list(): Promise<LimitView[]> {
    return this.#limits.list(this.#clock.now())
  }

  async get(key: string): Promise<LimitView | null> {
    return this.#limits.get(key, this.#clock.now())
  }

  // Not async: such a function makes one more object for each call, and these two are called most.
  reserve(request: ReserveRequest): Promise<ReserveAnswer> {
    const refused = refusal(request, 'reserve')
    if (refused !== null) return refused
    const { leaseId, requirements } = request
    const answer = this.#limits.reserve(leaseId, requirements, this.#clock.now())
    if (answer !== this.#answer || this.#answered === null) {
      this.#answer = answer
      this.#answered = Promise.resolve(answer)
    }
    return this.#answered
  }

  complete(request: CompleteRequest): Promise<CompleteAnswer> {
    const refused = refusal(request, 'complete')
    if (refused !== null) return refused
    const { leaseId, actuals = NO_ACTUALS } = request
    const answer = this.#limits.complete(leaseId, actuals, this.#clock.now())
    return answer === COMPLETED ? DONE : Promise.resolve(answer)
  }

  async reserveMany(requests: readonly ReserveRequest[]): Promise<ReserveAnswer[]> {
    checkLimitBatch(requests, 'reserve')
    const now = this.#clock.now()
    return requests.map(({ leaseId, requirements }) =>
      this.#limits.reserve(leaseId, requirements, now),
    )
  }

  async completeMany(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]> {
    checkLimitBatch(requests, 'complete')
    const now = this.#clock.now()
    return requests.map(({ leaseId, actuals = NO_ACTUALS }) =>
      this.#limits.complete(leaseId, actuals, now),
    )
  }

  async close(): Promise<void> {}
}

/** A rejected promise, also from a function that is not async; null if there is nothing to refuse. */
function refusal(request: unknown, call: LimitCall): Promise<never> | null {
  try {
    checkLimitRequest(request, call)
    return null
  } catch (error) {
    return Promise.reject(error)
  }
}
