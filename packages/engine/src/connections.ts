import {
  FairleadError,
  isLive,
  type LeaseListener,
  type ProviderId,
  type WorkerId,
} from '@fairlead/core'
import { leaseOffer } from './lease-offer.ts'
import type { Deliveries } from './outbox.ts'
import type { PayloadCache } from './payload-cache.ts'
import { guarded } from './subscribers.ts'

type Offered = Deliveries['offers'][number]

/** Where the rest of an offer comes from. */
interface Delivery {
  readonly nowMs: () => number
  readonly payloads: PayloadCache
}

/**
 * The workers that are connected to this process, each with its listener. It is not part of the state:
 * what is thrown away and loaded anew after a failed write does not cut a connection (WORKER-7).
 */
export class Connections {
  readonly #listeners = new Map<ProviderId, Map<WorkerId, LeaseListener>>()

  has(providerId: ProviderId, workerId: WorkerId): boolean {
    return this.#get(providerId, workerId) !== undefined
  }

  /** Makes this the connection of the worker. One that it had before is told that it is over. */
  put(providerId: ProviderId, workerId: WorkerId, listener: LeaseListener): void {
    const before = this.#get(providerId, workerId)
    const workers = this.#listeners.get(providerId) ?? new Map<WorkerId, LeaseListener>()
    workers.set(workerId, listener)
    this.#listeners.set(providerId, workers)
    if (before !== undefined && before !== listener)
      guarded(() => before.closed(replaced(workerId)))
  }

  /** Whether this is the worker's connection, not one that was replaced. */
  isCurrent(providerId: ProviderId, workerId: WorkerId, listener: LeaseListener): boolean {
    return this.#get(providerId, workerId) === listener
  }

  remove(providerId: ProviderId, workerId: WorkerId): void {
    const workers = this.#listeners.get(providerId)
    workers?.delete(workerId)
    if (workers?.size === 0) this.#listeners.delete(providerId)
  }

  /** Tells the workers what a batch means to them. Who is not connected hears of it when it is. */
  deliver({ held, offers, lost }: Deliveries, { nowMs, payloads }: Delivery): void {
    for (const { providerId, workerId, leases } of held) {
      const listener = this.#get(providerId, workerId)
      if (listener !== undefined) guarded(() => listener.held(leases))
    }
    const unread: Offered[] = []
    for (const offered of offers) {
      const payload = payloads.take(offered.lease.job.enqueueSeq)
      if (payload === undefined) unread.push(offered)
      else this.#push(offered, payload, nowMs())
    }
    if (unread.length > 0) void this.#pushRead(unread, { nowMs, payloads })
    for (const { lease, reason } of lost) {
      const listener = this.#get(lease.provider.id, lease.workerId)
      if (listener !== undefined) guarded(() => listener.lost(lease.id, reason))
    }
  }

  /** Pushes leases whose work has to be read first. */
  async #pushRead(unread: readonly Offered[], { nowMs, payloads }: Delivery): Promise<void> {
    try {
      const read = await payloads.read(unread.map(({ lease }) => lease))
      for (const [i, one] of unread.entries()) this.#push(one, read[i] as Uint8Array, nowMs())
    } catch {
      // Without its work a lease is not acked in time; that the store cannot be read is told elsewhere.
    }
  }

  /**
   * By now the lease may have ended, or its worker be gone; then whoever comes next hears of it. To
   * another worker it goes with the batch that moved it, which may not be stored yet.
   */
  #push({ lease, workerId }: Offered, payload: Uint8Array, at: number): void {
    const listener = this.#get(lease.provider.id, workerId)
    if (listener === undefined || !isLive(lease.status) || lease.workerId !== workerId) return
    guarded(() => listener.offer(leaseOffer(lease, payload, at)))
  }

  /** The engine closes, and with it every session. */
  closeAll(): void {
    const closed = new FairleadError('StoreUnavailable', 'the engine was closed; open it again')
    for (const workers of this.#listeners.values()) {
      for (const listener of workers.values()) guarded(() => listener.closed(closed))
    }
    this.#listeners.clear()
  }

  #get(providerId: ProviderId, workerId: WorkerId | null): LeaseListener | undefined {
    return workerId === null ? undefined : this.#listeners.get(providerId)?.get(workerId)
  }
}

function replaced(workerId: WorkerId): FairleadError {
  return new FairleadError(
    'InvalidState',
    `another session of the worker ${workerId} took this one's place; give each worker an id of its own`,
    { workerId },
  )
}
