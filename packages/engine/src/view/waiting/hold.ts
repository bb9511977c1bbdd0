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

/** Windows and limits are looked at for each caller. */
const WITHOUT_BOUNDS = { isWindowFull: () => false, admit: null }

/** How a kind of demand fares, whoever asks: before windows and limits. */
interface Demand {
  /** Providers that would take it. */
  readonly open: readonly Provider[]
  readonly check: Refusal | null
  readonly provider: Provider | null
  readonly slots: number
  /** By the limit that has no room and the window of the caller. */
  readonly holds: Map<string, Hold>
}

type Candidate = Parameters<typeof jobRefusal>[2]

/**
 * Tells what holds ready jobs of one kind. Demands are checked once for all callers, unless somebody has a list of
 * callers. After `checksMax` checks of a provider `isSpent` is true: then no further groups are to be looked at.
 */
export class Holds {
  readonly #market: Market
  readonly #kind: KindName
  readonly #terms: Terms
  readonly #listsCallers: boolean
  /** By the units and what is asked for; where somebody lists callers, by caller too. */
  readonly #demands = new Map<number, Map<string, Demand>>()
  readonly #paused = new Map<Pause, Hold>()
  readonly #passing: ReadonlySet<Provider>
  #checksLeft: number

  constructor(market: Market, kind: KindName, terms: Terms, checksMax: number) {
    const { pool, policy } = market
    const { requestersAllow, requestersDeny } = policy.registry
    this.#market = market
    this.#kind = kind
    this.#terms = terms
    this.#checksLeft = checksMax
    this.#passing = new Set(pool.passing(kind, market.nowMs))
    this.#listsCallers = pool.listsCallers || requestersAllow !== null || requestersDeny.length > 0
  }

  get isSpent(): boolean {
    return this.#checksLeft <= 0
  }

  /** A provider's denial of one job says nothing of its group, so it is left out. */
  of({ id, caller, units, tokens, shape }: First): Hold {
    const pause = this.#market.pauses.holding(shape)
    if (pause !== null) return this.#heldByPause(pause)
    const job = { id, caller, units, tokens, shape, denials: null }
    const demand = this.#demandOf(job)
    const { admit, isWindowFull } = this.#terms
    const isFull = isWindowFull(caller)
    const [first] = demand.open
    if (first === undefined) {
      const { check, provider, slots } = demand
      const isBusy = check === 'lease_cap_reached' && provider !== null && slots > 0
      const limit = isBusy ? (admit?.hold(job, provider.id) ?? null) : null
      return this.#shared(demand, check, limit, isFull)
    }
    if (isFull) return this.#shared(demand, 'requester_rate_limited', null, true)
    if (admit === null) return READY
    let limit: LimitHold | null = null
    for (const provider of admit.isByProvider(job) ? demand.open : [first]) {
      const hold = admit.hold(job, provider.id)
      if (hold === null) return READY
      limit ??= hold
    }
    return this.#shared(demand, 'limit_exhausted', limit, false)
  }

  #demandOf(job: Candidate): Demand {
    const { caller, demandKey } = job.shape
    const key = this.#listsCallers ? `${caller}${demandKey}` : demandKey
    let demands = this.#demands.get(job.units)
    if (demands === undefined) {
      demands = new Map()
      this.#demands.set(job.units, demands)
    }
    let demand = demands.get(key)
    if (demand === undefined) {
      demand = this.#ask(job)
      demands.set(key, demand)
    }
    return demand
  }

  #ask(job: Candidate): Demand {
    const open: Provider[] = []
    let best = -1
    let check: Refusal | null = null
    let closest: Provider | null = null
    let slots = 0
    for (const provider of this.#market.pool.all()) {
      if (provider.status === 'RETIRED') continue
      this.#checksLeft--
      const refusal = this.#refusalOf(provider, job)
      if (refusal === null) {
        open.push(provider)
        continue
      }
      const own = leaseCap(provider, this.#market.policy)
      if (refusal === 'lease_cap_reached') slots += own
      const rank = (RANKS.get(refusal) ?? 0) + (own > 0 ? 0 : NO_SLOTS)
      if (rank <= best) continue
      best = rank
      check = refusal
      closest = provider
    }
    return { open, check, provider: closest, slots, holds: new Map() }
  }

  /** What a provider offers before the state that it is in, which may be another one tomorrow. */
  #refusalOf(provider: Provider, job: Candidate): Refusal | null {
    const { nowMs, policy, epoch } = this.#terms
    const load = loadOf(provider, this.#kind, epoch)
    const own = jobRefusal(provider, load, job, { ...this.#terms, ...WITHOUT_BOUNDS })
    if (this.#passing.has(provider)) return own
    const state = providerRefusal(provider, this.#kind, nowMs, policy)
    if (own === null || state === null) return own ?? state
    return (RANKS.get(own) ?? 0) < (RANKS.get(state) ?? 0) ? own : state
  }

  #shared(
    demand: Demand,
    check: Refusal | null,
    limit: LimitHold | null,
    isWindowFull: boolean,
  ): Hold {
    const key = limit === null ? String(isWindowFull) : `${isWindowFull}${limit.reason}${limit.key}`
    let hold = demand.holds.get(key)
    if (hold === undefined) {
      const reason = check === 'limit_exhausted' ? 'budget' : 'no_provider'
      const provider = demand.open[0] ?? demand.provider
      hold = { reason, check, provider, slots: demand.slots, limit, isWindowFull, pause: null }
      demand.holds.set(key, hold)
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
