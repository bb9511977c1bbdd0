import type { JobId, ProviderId } from '../encoding/ids.ts'
import type { MarketLimits } from '../limits/market-limits.ts'
import type { Market } from '../market/market.ts'
import type { QueuedJob } from '../order/queued-job.ts'
import { type AdmitRules, amountOf } from './admit-rules.ts'

/** The fields of a job that admission reads. */
export type AdmitJob = Pick<QueuedJob, 'id' | 'tokens' | 'shape'>

/** Why a limit holds a job back (ADMIT-4). */
export type LimitHoldReason =
  /** The amount does not fit now. */
  | 'exhausted'
  /** The amount would fit, but a job ahead waits for the same limit. */
  | 'waited_for'
  /** The limit does not exist. */
  | 'unknown'
  /** The amount exceeds the limit's whole capacity. */
  | 'too_large'

export interface LimitHold {
  readonly key: string
  readonly reason: LimitHoldReason
  readonly amount: number
  /** When to check again; null if time alone changes nothing. */
  readonly until: number | null
}

/** A job that waits for a limit. Until then, other jobs that need this limit wait behind it. */
export interface LimitClaim {
  readonly jobId: JobId
  readonly amount: number
  readonly until: number
}

export type LimitClaims = ReadonlyMap<string, LimitClaim>

export const NO_CLAIMS: LimitClaims = new Map()

/**
 * The limits within one round (ADMIT-3). Amounts that the round has promised count as held. A limit that a job
 * waits for is not given to jobs behind it. Nothing is reserved before the round is decided.
 *
 * A job that does not fit claims the limit with the longest wait. So one job stands for all that need this limit,
 * and small jobs cannot pass a large one for ever (ADMIT-4).
 */
export class AdmitRound {
  readonly #rules: AdmitRules
  readonly #limits: MarketLimits
  readonly #nowMs: number
  readonly #promised = new Map<string, number>()
  /** For checks outside a round: the claims that the last round left. */
  readonly #before: LimitClaims
  /** The claims of all kinds so far. */
  readonly #all = new Map<string, LimitClaim>()
  /** The claims made while the batch was built. */
  #built = new Map<string, LimitClaim>()
  #open = new Map<string, LimitClaim>()
  /** The last answer, cached until something changes, because a job asks many providers in turn. */
  #known: { readonly job: AdmitJob; readonly hold: LimitHold | null } | null = null

  constructor(options: {
    readonly rules: AdmitRules
    readonly limits: MarketLimits
    readonly nowMs: number
    readonly claims?: LimitClaims
  }) {
    this.#rules = options.rules
    this.#limits = options.limits
    this.#nowMs = options.nowMs
    this.#before = options.claims ?? NO_CLAIMS
  }

  get isByCaller(): boolean {
    return this.#rules.isByCaller
  }

  concerns(job: AdmitJob): boolean {
    return this.#rules.concern(job)
  }

  isByProvider(job: AdmitJob): boolean {
    return this.#rules.isByProvider(job)
  }

  /** The limit that holds a job back at a provider, or null if the job may go there. */
  hold(job: AdmitJob, providerId: ProviderId): LimitHold | null {
    if (!this.#rules.concern(job)) return null
    if (this.#rules.isByProvider(job)) return this.#holdAt(job, providerId)
    if (this.#known?.job !== job) this.#known = { job, hold: this.#holdAt(job, providerId) }
    return this.#known.hold
  }

  /** True if limits hold a job back at every provider. */
  isHeldEverywhere(job: AdmitJob): boolean {
    return !this.isByProvider(job) && this.hold(job, NOBODY) !== null
  }

  /** Counts a job as promised to a provider (1), or takes the promise back (−1). */
  promise(job: AdmitJob, providerId: ProviderId, by: 1 | -1): void {
    this.#known = null
    for (const need of this.#rules.needs(job, providerId)) {
      const { key } = need
      this.#promised.set(key, (this.#promised.get(key) ?? 0) + by * amountOf(need, job))
    }
  }

  /** Only a limit keeps the job from a provider, so the job claims it: it is the next to get it. */
  claim(job: AdmitJob, { key, reason, amount, until }: LimitHold): void {
    if (reason !== 'exhausted' || until === null) return
    this.#known = null
    this.#open.set(key, { jobId: job.id, amount, until })
  }

  /** Starts to build a batch: jobs that are checked later stand behind jobs that were checked earlier. */
  startBatch(): void {
    this.#begin(new Map())
  }

  /** Starts to match the batch: its jobs stand ahead of the jobs that were left out. */
  startMatch(): void {
    this.#begin(this.#open)
  }

  /** Ends a kind. Each kind has its own queue, and so its own claims. */
  endKind(): void {
    for (const [key, claim] of [...this.#built, ...this.#open]) this.#all.set(key, claim)
    this.#begin(new Map())
  }

  claims(): LimitClaims {
    return this.#all
  }

  #begin(built: Map<string, LimitClaim>): void {
    this.#known = null
    this.#built = built
    this.#open = new Map()
  }

  /**
   * The order of reasons: first a limit that no time frees, then a claim of another job ahead. Otherwise the full
   * limit with the longest wait, and of equal waits the first.
   */
  #holdAt(job: AdmitJob, providerId: ProviderId): LimitHold | null {
    const now = this.#nowMs
    let longest: LimitHold | null = null
    let behind: LimitHold | null = null
    let never: LimitHold | null = null
    for (const need of this.#rules.needs(job, providerId)) {
      const { key } = need
      const amount = amountOf(need, job)
      const wait = this.#limits.waitFor(key, amount, this.#promised.get(key) ?? 0, now)
      if (wait === 'unknown') return { key, reason: wait, amount, until: null }
      if (wait === 'too_large') never ??= { key, reason: wait, amount, until: null }
      else if (wait > 0 && now + wait > (longest?.until ?? 0)) {
        longest = { key, reason: 'exhausted', amount, until: now + wait }
      }
      const claim = this.#open.get(key) ?? this.#before.get(key)
      if (claim === undefined || claim.jobId === job.id || claim.until <= now) continue
      behind ??= { key, reason: 'waited_for', amount, until: claim.until }
    }
    return never ?? behind ?? longest
  }
}

/** Admission for one round; null if no rule applies. Earlier grants are already held. */
export function openAdmit(
  market: Pick<Market, 'admit' | 'limits' | 'nowMs'>,
  claims?: LimitClaims,
): AdmitRound | null {
  const { admit: rules, limits, nowMs } = market
  return rules === null ? null : new AdmitRound({ rules, limits, nowMs, ...(claims && { claims }) })
}

const NOBODY = '' as ProviderId
