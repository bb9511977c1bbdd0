import type {
  Lease,
  LeaseTimes,
  LostReason,
  ProviderId,
  ProviderNotice,
  WorkerId,
} from '@fairlead/core'

/** Messages for workers about a batch once it is written, in this order. */
export interface Deliveries {
  /** Workers that connected, each with the leases that it holds and the session that asked. */
  readonly held: readonly {
    readonly providerId: ProviderId
    readonly workerId: WorkerId
    readonly session: number
    readonly leases: readonly LeaseTimes[]
    readonly notice: ProviderNotice | null
  }[]
  /** Providers whose notice has changed; null if nothing keeps them from work any more. */
  readonly notices: readonly {
    readonly providerId: ProviderId
    readonly notice: ProviderNotice | null
  }[]
  /** Leases to push, each to the worker that it has in this batch. */
  readonly offers: readonly { readonly lease: Lease; readonly workerId: WorkerId | null }[]
  /** Leases that ended other than by completion. */
  readonly lost: readonly { readonly lease: Lease; readonly reason: LostReason }[]
}

/** Collects messages for workers. None leaves it before the write is confirmed. */
export class Outbox {
  #held: Deliveries['held'][number][] = []
  #notices: Deliveries['notices'][number][] = []
  #offers: Lease[] = []
  #lost: Deliveries['lost'][number][] = []

  held(entry: Deliveries['held'][number]): void {
    this.#held.push(entry)
  }

  notice(entry: Deliveries['notices'][number]): void {
    this.#notices.push(entry)
  }

  offer(leases: readonly Lease[]): void {
    for (const lease of leases) this.#offers.push(lease)
  }

  lost(lease: Lease, reason: LostReason): void {
    if (lease.workerId !== null) this.#lost.push({ lease, reason })
  }

  /** Takes the messages since the last call. */
  take(): Deliveries {
    const offers = []
    for (const lease of this.#offers) offers.push({ lease, workerId: lease.workerId })
    const taken = { held: this.#held, notices: this.#notices, offers, lost: this.#lost }
    this.#held = []
    this.#notices = []
    this.#offers = []
    this.#lost = []
    return taken
  }
}
