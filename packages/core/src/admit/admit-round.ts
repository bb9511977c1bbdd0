import type { JobId, ProviderId } from '../encoding/ids.ts'
import type { MarketLimits } from '../limits/market-limits.ts'
import type { Market } from '../market/market.ts'
import type { QueuedJob } from '../order/queued-job.ts'
import { type AdmitRules, amountOf } from './admit-rules.ts'

/** What is looked at in a job. */
export type AdmitJob = Pick<QueuedJob, 'id' | 'tokens' | 'shape'>

/** Why a limit holds a job back (ADMIT-4). */
export type LimitHoldReason =
  /** So much does not fit now. */
  | 'exhausted'
  /** It would fit, but a job ahead waits for the same limit. */
  | 'waited_for'
  /** There is no such limit. */
  | 'unknown'
  /** It is more than the limit has in all. */
  | 'too_large'

export interface LimitHold {
  readonly key: string
  readonly reason: LimitHoldReason
  readonly amount: number
  /** When it is worth another look; null where time alone changes nothing. */
  readonly until: number | null
}

/** A job that waits for a limit: who needs the same one stands behind it until then. */
export interface LimitClaim {
  readonly jobId: JobId
  readonly amount: number
  readonly until: number
}

export type LimitClaims = ReadonlyMap<string, LimitClaim>

export const NO_CLAIMS: LimitClaims = new Map()

/**
 * Limits within one round (ADMIT-3): what it has promised so far counts as held, and what a job waits for
 * is not given to others behind it. Nothing is reserved before the round is decided.
 *
 * A job that does not fit claims the limit that it has to wait for longest. So one job speaks for all that
 * need this limit, and a large one is not passed by small ones for ever (ADMIT-4).
 */
export class AdmitRound {
  readonly #rules: AdmitRules
  readonly #limits: MarketLimits
  readonly #nowMs: number
  readonly #promised = new Map<string, number>()
  /** Outside of a round: as the last one left them. */
  readonly #before: LimitClaims
  /** Of all kinds so far. */
  readonly #all = new Map<string, LimitClaim>()
  /** Made while the batch was put together. */
  #built = new Map<string, LimitClaim>()
  #open = new Map<string, LimitClaim>()
  /** The last answer, for as long as nothing has changed: a job asks many providers in turn. */
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

  /** What holds a job back at a provider, or null if it may go there. */
  hold(job: AdmitJob, providerId: ProviderId): LimitHold | null {
    if (!this.#rules.concern(job)) return null
    if (this.#rules.isByProvider(job)) return this.#holdAt(job, providerId)
    if (this.#known?.job !== job) this.#known = { job, hold: this.#holdAt(job, providerId) }
    return this.#known.hold
  }

  /** Whether limits hold a job back at whoever does the work. */
  isHeldEverywhere(job: AdmitJob): boolean {
    return !this.isByProvider(job) && this.hold(job, NOBODY) !== null
  }

  /** A job is to go to a provider; or not, after all. */
  promise(job: AdmitJob, providerId: ProviderId, by: 1 | -1): void {
    this.#known = null
    for (const need of this.#rules.needs(job, providerId)) {
      const { key } = need
      this.#promised.set(key, (this.#promised.get(key) ?? 0) + by * amountOf(need, job))
    }
  }

  /** Nothing but a limit keeps the job from a provider: it is the next to get what it waits for. */
  claim(job: AdmitJob, { key, reason, amount, until }: LimitHold): void {
    if (reason !== 'exhausted' || until === null) return
    this.#known = null
    this.#open.set(key, { jobId: job.id, amount, until })
  }

  /** A batch is put together: who is asked for it later stands behind who was asked before. */
  startBatch(): void {
    this.#begin(new Map())
  }

  /** It is matched: all that is in it stands ahead of whoever was left out. */
  startMatch(): void {
    this.#begin(this.#open)
  }

  /** Kinds have a queue each, and so have claims. */
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
   * What no time mends is told first; then, whom it stands behind; else, of several limits that have no
   * room, the one that it has to wait for longest, of equal ones the first.
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

/** A round on a market; null where nothing has to be admitted. What was given before it is held by now. */
export function openAdmit(
  market: Pick<Market, 'admit' | 'limits' | 'nowMs'>,
  claims?: LimitClaims,
): AdmitRound | null {
  const { admit: rules, limits, nowMs } = market
  return rules === null ? null : new AdmitRound({ rules, limits, nowMs, ...(claims && { claims }) })
}

const NOBODY = '' as ProviderId
