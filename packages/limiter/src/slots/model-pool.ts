import {
  type JobEstimate,
  type ModelLimits,
  poolOf,
  SharedUsage,
  type SlotPool,
  type Usage,
} from '@fairlead/core'

/** One model: what was started on it, and what that leaves for the job types of this instance. */
export class ModelPool {
  readonly limits: ModelLimits
  readonly #usage: SharedUsage
  readonly #estimates: readonly JobEstimate[]
  readonly #estimate: 'average' | 'max'

  constructor(options: {
    readonly limits: ModelLimits
    readonly estimates: readonly JobEstimate[]
    readonly estimate: 'average' | 'max'
  }) {
    this.limits = options.limits
    this.#usage = new SharedUsage(options.limits)
    this.#estimates = options.estimates
    this.#estimate = options.estimate
  }

  get inFlight(): number {
    return this.#usage.inFlight
  }

  used(nowMs: number): Usage {
    return this.#usage.used(nowMs)
  }

  /**
   * The limit of a window for an instance is what it has started there itself and its share of what remains.
   * With one instance the two are the whole limit, unless more was used than there is.
   */
  pool(nowMs: number): SlotPool {
    const own = this.used(nowMs)
    const overrun = (limit: number | null, used: number): number =>
      limit === null ? 0 : Math.max(0, used - limit)
    const { limits } = this
    return poolOf({
      limits,
      used: {
        tpm: overrun(limits.tpm, own.tpm),
        rpm: overrun(limits.rpm, own.rpm),
        tpd: overrun(limits.tpd, own.tpd),
        rpd: overrun(limits.rpd, own.rpd),
      },
      instances: 1,
      jobTypes: this.#estimates,
      estimate: this.#estimate,
    })
  }

  acquire(ref: string, estimate: JobEstimate, nowMs: number): boolean {
    return this.#usage.acquire(ref, estimate, nowMs).allowed
  }

  release(ref: string, actual: JobEstimate | null, nowMs: number): JobEstimate {
    return this.#usage.release(ref, actual, nowMs).overage
  }
}
