import type { ProviderId } from '@fairlead/core'
import type { EngineEvent } from './journal.ts'

/** Takes a listener back. */
export type Unsubscribe = () => void

/** Who wants to hear of what; told only after the write has been confirmed. */
export class Subscribers<Offer> {
  readonly #events = new Set<(event: EngineEvent) => void>()
  readonly #offers = new Map<ProviderId, Set<(offer: Offer) => void>>()

  onEvent(listener: (event: EngineEvent) => void): Unsubscribe {
    this.#events.add(listener)
    return () => this.#events.delete(listener)
  }

  onOffer(providerId: ProviderId, listener: (offer: Offer) => void): Unsubscribe {
    const listeners = this.#offers.get(providerId) ?? new Set()
    listeners.add(listener)
    this.#offers.set(providerId, listeners)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#offers.delete(providerId)
    }
  }

  wantsOffers(providerId: ProviderId): boolean {
    return this.#offers.has(providerId)
  }

  tell(events: readonly EngineEvent[]): void {
    for (const event of events) for (const listener of this.#events) guarded(listener, event)
  }

  offer(providerId: ProviderId, offer: Offer): void {
    for (const listener of this.#offers.get(providerId) ?? []) guarded(listener, offer)
  }
}

/** A listener that throws is its owner's affair: what it was told of is stored all the same. */
function guarded<T>(listener: (value: T) => void, value: T): void {
  try {
    listener(value)
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error))
  }
}
