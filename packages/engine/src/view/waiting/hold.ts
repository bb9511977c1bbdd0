import type { KindName, Market, Pause, Provider, Refusal, WaitReason } from '@fairlead/core'
import {
  jobRefusal,
  type LimitHold,
  leaseCap,
  loadOf,
  providerRefusal,
  type ReadyGroup,
  type Terms,
} from '@fairlead/core/internal'

/** What keeps jobs from going. Jobs that are alike share one. */
export interface Hold {
  readonly reason: WaitReason
  /** The check that fails at the provider that comes closest; null if no provider is asked. */
  readonly check: Refusal | null
  /** That provider. */
  readonly provider: Provider | null
  /** The slots of all providers that would take them, if these are all taken. */
  readonly slots: number
  /** The limit that has no room for them. Where all slots are taken, it would hold them behind that. */
  readonly limit: LimitHold | null
  /** True if their caller has got all that its window admits. */
  readonly isWindowFull: boolean
  readonly pause: Pause | null
}

export const READY: Hold = {
  reason: 'ready',
  check: null,
  provider: null,
  slots: 0,
  limit: null,
  isWindowFull: false,
  pause: null,
}

/** The more of these a provider passes, the closer it is to a job. Terms that never change come first. */
const CLOSENESS: readonly Refusal[] = [
  'capability_missing',
  'model_unsupported',
  'circuit_unsupported',
  'region_denied',
  'requester_denied',
  'provider_not_active',
  'attestation_invalid',
  'stake_below_minimum',
  'heartbeat_stale',
  'unhealthy',
  'cooling_down',
  'epoch_units_exhausted',
  'class_cooling_down',
  'denied_for_job',
  'lease_cap_reached',
  'requester_rate_limited',
  'limit_exhausted',
]
const RANKS = new Map(CLOSENESS.map((check, rank) => [check, rank]))
/** Behind all others of its check: a provider without any slot has no worker. */
const NO_SLOTS = -0.5

type First = ReadyGroup['first']

/**
 * Tells what holds ready jobs of one kind. Groups that ask providers for the same are checked once, and after
 * `checksMax` checks of a provider `isSpent` is true: the caller then looks at no further groups.
 */
export class Holds {
  readonly #market: Market
  readonly #terms: Terms
  readonly #asksCaller: boolean
  readonly #known = new Map<string, Hold>()
  readonly #paused = new Map<Pause, Hold>()
  readonly #passing: ReadonlySet<Provider>
  /** One for each check and provider, and for each limit. */
  readonly #holds = new Map<string, Hold>()
  #checksLeft: number

  constructor(market: Market, kind: KindName, terms: Terms, checksMax: number) {
    const { pool, policy } = market
    const { requestersAllow, requestersDeny } = policy.registry
    this.#market = market
    this.#terms = terms
    this.#checksLeft = checksMax
    this.#passing = new Set(pool.passing(kind, market.nowMs))
    this.#asksCaller =
      pool.listsCallers ||
      requestersAllow !== null ||
      requestersDeny.length > 0 ||
      policy.queue.quotas.requesterWindow !== null ||
      terms.admit?.isByCaller === true
  }

  get isSpent(): boolean {
    return this.#checksLeft <= 0
  }

  of(job: First): Hold {
    const pause = this.#market.pauses.holding(job.shape)
    if (pause !== null) return this.#heldByPause(pause)
    const { caller, demandKey } = job.shape
    const tokens = this.#terms.admit === null ? 0 : job.tokens
    const key = `${this.#asksCaller ? caller : ''}|${job.units}|${tokens}|${demandKey}`
    let hold = this.#known.get(key)
    if (hold === undefined) {
      hold = this.#check(job)
      this.#known.set(key, hold)
    }
    return hold
  }

  /** A provider's denial of one job says nothing of its group. */
  #check({ id, caller, units, tokens, shape }: First): Hold {
    const job = { id, caller, units, tokens, shape, denials: null }
    let best = -1
    let check: Refusal | null = null
    let closest: Provider | null = null
    let limit: LimitHold | null = null
    let slots = 0
    for (const provider of this.#market.pool.all()) {
      if (provider.status === 'RETIRED') continue
      this.#checksLeft--
      const refusal = this.#refusalOf(provider, job)
      if (refusal === null) return READY
      const own = leaseCap(provider, this.#market.policy)
      if (refusal === 'lease_cap_reached') slots += own
      if (refusal === 'limit_exhausted' || refusal === 'lease_cap_reached') {
        limit ??= this.#terms.admit?.hold(job, provider.id) ?? null
      }
      const rank = (RANKS.get(refusal) ?? 0) + (own > 0 ? 0 : NO_SLOTS)
      if (rank <= best) continue
      best = rank
      check = refusal
      closest = provider
    }
    const isWindowFull = this.#terms.isWindowFull(caller)
    return this.#shared({ check, provider: closest, limit, slots, isWindowFull })
  }

  /** Terms that never change before the state of the provider, which may have changed by tomorrow. */
  #refusalOf(provider: Provider, job: Parameters<typeof jobRefusal>[2]): Refusal | null {
    const { kind } = job.shape
    const { nowMs, policy, epoch } = this.#terms
    const own = jobRefusal(provider, loadOf(provider, kind, epoch), job, this.#terms)
    if (this.#passing.has(provider)) return own
    const state = providerRefusal(provider, kind, nowMs, policy)
    if (own === null || state === null) return own ?? state
    return (RANKS.get(own) ?? 0) < (RANKS.get(state) ?? 0) ? own : state
  }

  #shared(found: Omit<Hold, 'reason' | 'pause'>): Hold {
    const { check, provider, limit, isWindowFull } = found
    const key = `${check}|${provider?.id ?? ''}|${limit?.key ?? ''}|${limit?.reason ?? ''}|${isWindowFull}`
    let hold = this.#holds.get(key)
    if (hold === undefined) {
      const reason = check === 'limit_exhausted' ? 'budget' : 'no_provider'
      hold = { ...found, reason, pause: null }
      this.#holds.set(key, hold)
    }
    return hold
  }

  #heldByPause(pause: Pause): Hold {
    let hold = this.#paused.get(pause)
    if (hold === undefined) {
      hold = { ...READY, reason: 'paused', pause }
      this.#paused.set(pause, hold)
    }
    return hold
  }
}
