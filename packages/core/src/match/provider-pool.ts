import { compareAscii } from '../encoding/bytes.ts'
import type { ProviderId } from '../encoding/ids.ts'
import { KIND_NAMES, type KindName } from '../enqueue/kinds.ts'
import { invariant } from '../errors.ts'
import type { Policy } from '../policy/policy.ts'
import { classKey, type Provider, type ProviderOffer } from '../registry/provider.ts'
import { providerRefusal } from './eligibility.ts'

/** The names that a provider may list for each kind; '' for a kind without names. */
const OFFERED: Readonly<Record<KindName, (offer: ProviderOffer) => Iterable<string>>> = {
  ai: ({ models }) => models,
  task: ({ models }) => models,
  quantum: () => [''],
  registration: ({ platforms }) => platforms,
}

interface Passing {
  readonly providers: readonly Provider[]
  /** From this time on, time alone may make the list wrong. */
  readonly until: number
  /** The providers in the list, to notice when a provider's own state changes the answer. */
  readonly members: ReadonlySet<Provider>
}

/**
 * All providers in order of id, and for each kind those that pass the checks that do not depend on a job. Such a
 * list is rebuilt only when one of its answers may have changed. So a round does not pay for providers that it
 * never looks at (MATCH-6).
 */
export class ProviderPool {
  readonly #byId = new Map<ProviderId, Provider>()
  #sorted: Provider[] | null = []
  readonly #passing = new Map<KindName, Passing>()
  /** The number of providers that offer a kind and model, whatever their state. */
  readonly #offers = new Map<string, number>()
  #callerLists = 0
  #policy: Policy

  constructor(policy: Policy) {
    this.#policy = policy
  }

  get size(): number {
    return this.#byId.size
  }

  get(id: ProviderId): Provider | undefined {
    return this.#byId.get(id)
  }

  /** In order of id. */
  all(): readonly Provider[] {
    this.#sorted ??= [...this.#byId.values()].sort((a, b) => compareAscii(a.id, b.id))
    return this.#sorted
  }

  add(provider: Provider): void {
    invariant(!this.#byId.has(provider.id), 'a provider is in the pool once')
    this.#byId.set(provider.id, provider)
    this.#countOffers(provider, 1)
    this.#sorted = null
    this.#passing.clear()
  }

  /** Replaces the offer of a provider. */
  setOffer(provider: Provider, offer: ProviderOffer): void {
    this.#countOffers(provider, -1)
    provider.offer = offer
    this.#countOffers(provider, 1)
    this.#passing.clear()
  }

  setPolicy(policy: Policy): void {
    this.#policy = policy
    this.#passing.clear()
  }

  /** Call this after a change of a provider's status, stake, attestation, health or cooldown. */
  touch(provider: Provider, nowMs: number): void {
    for (const [kind, passing] of this.#passing) {
      const passes = providerRefusal(provider, kind, nowMs, this.#policy) === null
      const changed = passes !== passing.members.has(provider)
      if (changed || this.#changesAt(provider, nowMs) < passing.until) this.#passing.delete(kind)
    }
  }

  /** The providers that pass the checks up to `cooling_down`, in order of id. */
  passing(kind: KindName, nowMs: number): readonly Provider[] {
    const known = this.#passing.get(kind)
    if (known !== undefined && nowMs < known.until) return known.providers
    const providers: Provider[] = []
    let until = Number.POSITIVE_INFINITY
    for (const provider of this.all()) {
      if (providerRefusal(provider, kind, nowMs, this.#policy) === null) providers.push(provider)
      until = Math.min(until, this.#changesAt(provider, nowMs))
    }
    this.#passing.set(kind, { providers, until, members: new Set(providers) })
    return providers
  }

  /** False only if no provider lists the kind and model at all. */
  isOffered(kind: KindName, model: string | null): boolean {
    return this.#offers.has(classKey(kind, model)) || this.#offers.has(classKey(kind, '*'))
  }

  /** True if any provider has a list of callers. If not, all callers are alike to all providers. */
  get listsCallers(): boolean {
    return this.#callerLists > 0
  }

  /** The next time at which time alone may change the result of a check of this provider. */
  #changesAt(provider: Provider, nowMs: number): number {
    let next = Number.POSITIVE_INFINITY
    const consider = (at: number): void => {
      if (at > nowMs && at < next) next = at
    }
    if (this.#policy.registry.liveness === 'heartbeat') {
      consider(provider.lastHeartbeat + this.#policy.registry.heartbeatTimeoutMs + 1)
    }
    if (provider.cooldownUntil !== null) consider(provider.cooldownUntil)
    if (provider.attestation !== null) {
      consider(provider.attestation.notBefore)
      consider(provider.attestation.notAfter)
    }
    return next
  }

  #countOffers({ offer }: Provider, by: 1 | -1): void {
    if (offer.allow !== null || offer.deny.size > 0) this.#callerLists += by
    for (const kind of KIND_NAMES) {
      if (!offer.capabilities.has(kind)) continue
      const models = OFFERED[kind](offer)
      for (const model of models) {
        const key = classKey(kind, model)
        const total = (this.#offers.get(key) ?? 0) + by
        if (total === 0) this.#offers.delete(key)
        else this.#offers.set(key, total)
      }
    }
  }
}
