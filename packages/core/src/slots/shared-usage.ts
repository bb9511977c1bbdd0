import {
  DAY_MS,
  type Dimension,
  isOfTokens,
  type JobEstimate,
  MINUTE_MS,
  type ModelLimits,
  RATE_DIMENSIONS,
  type RateDimension,
  type Usage,
} from './slot-pool.ts'

/** A start that all instances count against one model, with the windows that count it (SLOT-5). */
export interface PoolStart {
  readonly estimate: JobEstimate
  readonly minute: number
  readonly day: number
}

export interface AcquireAnswer {
  readonly allowed: boolean
  /** The first dimension that has no room. */
  readonly denied: Dimension | null
}

/**
 * The starts of all instances together on one model: the usage in the current minute and day, and the jobs in
 * flight. It checks the whole requirement of a job. So the sum of all starts never exceeds the model's limits,
 * whatever the instances believe their shares to be.
 */
export class SharedUsage {
  #limits: ModelLimits
  #used: Record<RateDimension, number> = { tpm: 0, rpm: 0, tpd: 0, rpd: 0 }
  #minute = 0
  #day = 0
  #nowMs = 0
  readonly #inFlight = new Map<string, PoolStart>()

  constructor(limits: ModelLimits) {
    this.#limits = limits
  }

  get inFlight(): number {
    return this.#inFlight.size
  }

  /** The usage in the current windows. */
  used(nowMs: number): Usage {
    this.#advance(nowMs)
    return { ...this.#used }
  }

  /** The current windows. */
  windows(nowMs: number): { readonly minute: number; readonly day: number } {
    this.#advance(nowMs)
    return { minute: this.#minute, day: this.#day }
  }

  /** The start in flight under this reference. */
  start(ref: string): PoolStart | undefined {
    return this.#inFlight.get(ref)
  }

  /** All starts in flight. */
  starts(): IterableIterator<[ref: string, start: PoolStart]> {
    return this.#inFlight.entries()
  }

  changeLimits(limits: ModelLimits): void {
    this.#limits = limits
  }

  /** Starts a job if all of it fits. The same `ref` again, while it is in flight, changes nothing. */
  acquire(ref: string, estimate: JobEstimate, nowMs: number): AcquireAnswer {
    this.#advance(nowMs)
    if (this.#inFlight.has(ref)) return { allowed: true, denied: null }
    const denied = this.#refusing(estimate)
    if (denied !== null) return { allowed: false, denied }
    for (const dimension of RATE_DIMENSIONS) this.#used[dimension] += partOf(estimate, dimension)
    this.#inFlight.set(ref, { estimate, minute: this.#minute, day: this.#day })
    return { allowed: true, denied: null }
  }

  /**
   * Ends a job. Unused amounts return to the windows that it started in, if these are still current. Usage beyond
   * the estimate counts in the current windows (SLOT-7).
   */
  release(ref: string, actual: JobEstimate | null, nowMs: number): { overage: JobEstimate } {
    this.#advance(nowMs)
    const start = this.#inFlight.get(ref)
    this.#inFlight.delete(ref)
    if (start === undefined || actual === null) return { overage: { tokens: 0, requests: 0 } }
    for (const dimension of RATE_DIMENSIONS) {
      const difference = partOf(actual, dimension) - partOf(start.estimate, dimension)
      if (difference > 0 || this.#isCurrent(start, dimension)) this.#used[dimension] += difference
    }
    return {
      overage: {
        tokens: Math.max(0, actual.tokens - start.estimate.tokens),
        requests: Math.max(0, actual.requests - start.estimate.requests),
      },
    }
  }

  #refusing(estimate: JobEstimate): Dimension | null {
    for (const dimension of RATE_DIMENSIONS) {
      const limit = this.#limits[dimension]
      if (limit !== null && this.#used[dimension] + partOf(estimate, dimension) > limit) {
        return dimension
      }
    }
    const { maxConcurrency } = this.#limits
    return maxConcurrency !== null && this.#inFlight.size >= maxConcurrency ? 'concurrency' : null
  }

  #isCurrent(start: PoolStart, dimension: RateDimension): boolean {
    return dimension === 'tpm' || dimension === 'rpm'
      ? start.minute === this.#minute
      : start.day === this.#day
  }

  /** Resets counters whose window is over. Time never goes back. */
  #advance(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs)
    const minute = Math.floor(this.#nowMs / MINUTE_MS)
    const day = Math.floor(this.#nowMs / DAY_MS)
    if (minute !== this.#minute) this.#used = { ...this.#used, tpm: 0, rpm: 0 }
    if (day !== this.#day) this.#used = { ...this.#used, tpd: 0, rpd: 0 }
    this.#minute = minute
    this.#day = day
  }
}

function partOf({ tokens, requests }: JobEstimate, dimension: RateDimension): number {
  return isOfTokens(dimension) ? tokens : requests
}
