import type { ProviderId } from '@fairlead/core'
import type { Engine } from '@fairlead/engine'

/** A provider's calls are its heartbeat, at most once in so long. */
const BEAT_MS = 15_000
/** A provider that may be silent for less than that beats more often: so many times before its time is over. */
const BEATS_IN_TIME = 3
/** Providers that are remembered at a time; a beat too many does no harm. */
const PROVIDERS_MAX = 100_000

/**
 * Issues the heartbeats of providers that call, where the policy knows by heartbeats that a provider is alive
 * (WIRE-11). Elsewhere its connected workers show it.
 */
export class ProviderPulse {
  readonly #engine: Pick<Engine, 'heartbeat' | 'view'>
  readonly #now: () => number
  readonly #beatAt = new Map<ProviderId, number>()

  constructor(engine: Pick<Engine, 'heartbeat' | 'view'>, now = () => performance.now()) {
    this.#engine = engine
    this.#now = now
  }

  /** The provider has called. */
  beat(providerId: ProviderId): void {
    const { liveness, heartbeatTimeoutMs } = this.#engine.view.policy.registry
    if (liveness !== 'heartbeat') return
    const now = this.#now()
    const everyMs = Math.min(BEAT_MS, heartbeatTimeoutMs / BEATS_IN_TIME)
    if (now - (this.#beatAt.get(providerId) ?? Number.NEGATIVE_INFINITY) < everyMs) return
    if (this.#beatAt.size >= PROVIDERS_MAX) this.#beatAt.clear()
    this.#beatAt.set(providerId, now)
    // It may not be registered yet. The call itself tells its caller of any other trouble.
    this.#engine.heartbeat(providerId).catch(() => undefined)
  }
}
