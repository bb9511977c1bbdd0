import {
  type Clock,
  FairleadError,
  isLive,
  type LeaseId,
  type LeaseListener,
  type ProviderId,
  type WorkerId,
} from '@fairlead/core'
import { ackDueAt } from '@fairlead/core/internal'
import type { OfWorker } from '../commands/command.ts'
import { guarded } from '../view/subscribers.ts'
import { leaseOffer } from './lease-offer.ts'
import type { Deliveries } from './outbox.ts'
import type { PayloadCache } from './payload-cache.ts'

/** How long to wait before the payload of an offer is read again. */
const READ_AGAIN_MS = 250

type Offered = Deliveries['offers'][number]

/** The sources for the rest of an offer, and the way to take back one that cannot be delivered. */
interface Delivery {
  readonly nowMs: () => number
  readonly payloads: PayloadCache
  readonly clock: Clock
  /** Takes back a lease that was not delivered to its worker. */
  readonly withdraw: (leaseId: LeaseId) => Promise<unknown>
  /** False once the state was reloaded: every worker has then been told again what it holds. */
  readonly isCurrent: () => boolean
}

/** One session of a worker. */
interface Connection {
  readonly session: number
  readonly listener: LeaseListener
  /** True once the worker was told what it holds. Changes stored before that concern an earlier session. */
  isWelcome: boolean
}

/** In place of a session that is not welcome yet: no session has this number. */
const NOBODY_YET = 0

/**
 * The workers that are connected to this process, each with its listener. They are not part of the state, so a
 * reload after a failed write closes no connection (WORKER-7).
 */
export class Connections {
  readonly #connections = new Map<ProviderId, Map<WorkerId, Connection>>()
  #lastSession = NOBODY_YET

  /** The connected workers, grouped by provider. */
  present(): OfWorker[] {
    return [...this.#connections].flatMap(([providerId, workers]) =>
      [...workers.keys()].map((workerId) => ({ providerId, workerId })),
    )
  }

  /** The session that must hear what the worker holds; null if the worker is not connected. */
  sessionOf(providerId: ProviderId, workerId: WorkerId): number | null {
    const connection = this.#get(providerId, workerId)
    if (connection === undefined) return null
    // The command of a session that is not welcome yet is still to come and brings its own welcome.
    return connection.isWelcome ? connection.session : NOBODY_YET
  }

  /**
   * Makes this the connection of the worker and returns its number. The listener of a replaced connection is told
   * that it is closed.
   */
  put(providerId: ProviderId, workerId: WorkerId, listener: LeaseListener): number {
    const before = this.#get(providerId, workerId)
    const workers = this.#connections.get(providerId) ?? new Map<WorkerId, Connection>()
    const session = ++this.#lastSession
    workers.set(workerId, { session, listener, isWelcome: false })
    this.#connections.set(providerId, workers)
    if (before !== undefined && before.listener !== listener)
      guarded(() => before.listener.closed(replaced(workerId)))
    return session
  }

  /** True if this is the worker's current connection, not a replaced one. */
  isCurrent(providerId: ProviderId, workerId: WorkerId, listener: LeaseListener): boolean {
    return this.#get(providerId, workerId)?.listener === listener
  }

  remove(providerId: ProviderId, workerId: WorkerId): void {
    const workers = this.#connections.get(providerId)
    workers?.delete(workerId)
    if (workers?.size === 0) this.#connections.delete(providerId)
  }

  /** Tells the workers the effects of a batch. A disconnected worker hears of them when it connects. */
  deliver({ held, notices, offers, lost }: Deliveries, delivery: Delivery): void {
    const { nowMs, payloads } = delivery
    for (const { providerId, workerId, session, leases, notice } of held) {
      const connection = this.#get(providerId, workerId)
      if (connection?.session !== session) continue
      connection.isWelcome = true
      guarded(() => connection.listener.held(leases))
      guarded(() => connection.listener.notice?.(notice))
    }
    for (const { providerId, notice } of notices) {
      for (const { listener, isWelcome } of this.#connections.get(providerId)?.values() ?? []) {
        if (isWelcome) guarded(() => listener.notice?.(notice))
      }
    }
    const unread: Offered[] = []
    for (const offered of offers) {
      const payload = payloads.take(offered.lease.job.enqueueSeq)
      if (payload === undefined) unread.push(offered)
      else this.#push(offered, payload, nowMs())
    }
    if (unread.length > 0) void this.#pushRead(unread, delivery)
    for (const { lease, reason } of lost) {
      const listener = this.#welcome(lease.provider.id, lease.workerId)
      if (listener !== undefined) guarded(() => listener.lost(lease.id, reason))
    }
  }

  /** Pushes leases whose payload must be read first. */
  async #pushRead(offers: readonly Offered[], delivery: Delivery): Promise<void> {
    const { nowMs, payloads, isCurrent } = delivery
    const unread = offers.filter((one) => this.#listenerFor(one) !== undefined)
    if (unread.length === 0 || !isCurrent()) return
    let read: readonly (Uint8Array | null)[] = []
    try {
      read = await payloads.read(unread.map(({ lease }) => lease))
    } catch {
      // Failed reads of the store are reported elsewhere.
    }
    if (!isCurrent()) return
    const later: Offered[] = []
    for (const [i, one] of unread.entries()) {
      const payload = read[i] ?? null
      if (payload === null) later.push(one)
      else this.#push(one, payload, nowMs())
    }
    this.#readLater(later, delivery)
  }

  /**
   * An unreadable payload is not the worker's fault, so it must not end in an ack timeout. Reads are retried for
   * half of the ack timeout; the other half is left for the worker. After that the lease is taken back without a
   * charge, and its job gets another.
   */
  #readLater(unread: readonly Offered[], delivery: Delivery): void {
    const { nowMs, clock } = delivery
    // Between two commands the time of the state lags behind the clock, unless the clock went back.
    const at = Math.max(nowMs(), clock.now())
    let waitMs = READ_AGAIN_MS
    const again: Offered[] = []
    for (const one of unread) {
      if (this.#listenerFor(one) === undefined) continue
      const leftMs = ackDueAt(one.lease) - Math.ceil(one.lease.terms.ackTimeoutMs / 2) - at
      if (leftMs <= 0) this.#withdraw(one, delivery)
      else {
        again.push(one)
        waitMs = Math.min(waitMs, leftMs)
      }
    }
    if (again.length === 0) return
    clock.wakeAt(clock.now() + waitMs, () => void this.#pushRead(again, delivery))
  }

  /** A store that is away for a moment must not leave the worker charged: it is asked again. */
  #withdraw(one: Offered, delivery: Delivery): void {
    const { clock, withdraw, isCurrent } = delivery
    const again = (): void => {
      if (isCurrent()) this.#readLater([one], delivery)
    }
    withdraw(one.lease.id).catch(() => clock.wakeAt(clock.now() + READ_AGAIN_MS, again))
  }

  /**
   * Pushes an offer, unless the lease has ended or its worker is gone: then the next worker hears of it. A lease
   * that moved to another worker is pushed with the batch that moved it, which may not be stored yet.
   */
  #push(offered: Offered, payload: Uint8Array, at: number): void {
    const listener = this.#listenerFor(offered)
    if (listener !== undefined)
      guarded(() => listener.offer(leaseOffer(offered.lease, payload, at)))
  }

  #listenerFor({ lease, workerId }: Offered): LeaseListener | undefined {
    const isOpen = isLive(lease.status) && lease.workerId === workerId
    return isOpen ? this.#welcome(lease.provider.id, workerId) : undefined
  }

  /** Closes every session when the engine closes. */
  closeAll(): void {
    const closed = new FairleadError('StoreUnavailable', 'the engine was closed; open it again')
    for (const workers of this.#connections.values()) {
      for (const { listener } of workers.values()) guarded(() => listener.closed(closed))
    }
    this.#connections.clear()
  }

  /** The listener of a worker that may receive single leases. */
  #welcome(providerId: ProviderId, workerId: WorkerId | null): LeaseListener | undefined {
    const connection = workerId === null ? undefined : this.#get(providerId, workerId)
    return connection?.isWelcome === true ? connection.listener : undefined
  }

  #get(providerId: ProviderId, workerId: WorkerId): Connection | undefined {
    return this.#connections.get(providerId)?.get(workerId)
  }
}

function replaced(workerId: WorkerId): FairleadError {
  return new FairleadError(
    'InvalidState',
    `another session of the worker ${workerId} took this one's place; give each worker an id of its own`,
    { workerId },
  )
}
