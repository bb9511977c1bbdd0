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

/** How long to wait before the work of an offer is read again. */
const READ_AGAIN_MS = 250

type Offered = Deliveries['offers'][number]

/** Where the rest of an offer comes from, and what is done if it does not. */
interface Delivery {
  readonly nowMs: () => number
  readonly payloads: PayloadCache
  readonly clock: Clock
  /** Takes a lease back that was not brought to its worker. */
  readonly withdraw: (leaseId: LeaseId) => void
  /** False once the state was loaded anew: then every worker has heard again what it holds. */
  readonly isCurrent: () => boolean
}

/** One session of a worker. */
interface Connection {
  readonly session: number
  readonly listener: LeaseListener
  /** It was told what it goes on with. What was stored before that concerned an earlier session. */
  isWelcome: boolean
}

/** In place of a session that is not welcome yet: there is none with this number. */
const NOBODY_YET = 0

/**
 * The workers that are connected to this process, each with its listener. It is not part of the state:
 * what is thrown away and loaded anew after a failed write does not cut a connection (WORKER-7).
 */
export class Connections {
  readonly #connections = new Map<ProviderId, Map<WorkerId, Connection>>()
  #lastSession = NOBODY_YET

  /** The workers that are connected, in the order in which they came. */
  present(): OfWorker[] {
    return [...this.#connections].flatMap(([providerId, workers]) =>
      [...workers.keys()].map((workerId) => ({ providerId, workerId })),
    )
  }

  /** The session that is to hear what the worker holds; null if the worker is not connected. */
  sessionOf(providerId: ProviderId, workerId: WorkerId): number | null {
    const connection = this.#get(providerId, workerId)
    if (connection === undefined) return null
    // Of one that is not welcome yet the command is still to come, and with it its own welcome.
    return connection.isWelcome ? connection.session : NOBODY_YET
  }

  /**
   * Makes this the connection of the worker and gives it a number. One that it had before is told that it
   * is over.
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

  /** Whether this is the worker's connection, not one that was replaced. */
  isCurrent(providerId: ProviderId, workerId: WorkerId, listener: LeaseListener): boolean {
    return this.#get(providerId, workerId)?.listener === listener
  }

  remove(providerId: ProviderId, workerId: WorkerId): void {
    const workers = this.#connections.get(providerId)
    workers?.delete(workerId)
    if (workers?.size === 0) this.#connections.delete(providerId)
  }

  /** Tells the workers what a batch means to them. Who is not connected hears of it when it is. */
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

  /** Pushes leases whose work has to be read first. */
  async #pushRead(offers: readonly Offered[], delivery: Delivery): Promise<void> {
    const { nowMs, payloads, isCurrent } = delivery
    const unread = offers.filter((one) => this.#listenerFor(one) !== undefined)
    if (unread.length === 0 || !isCurrent()) return
    let read: readonly (Uint8Array | null)[] = []
    try {
      read = await payloads.read(unread.map(({ lease }) => lease))
    } catch {
      // That the store cannot be read is told elsewhere.
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
   * That its work cannot be read is no fault of the worker, so it must not end in an ack timeout. It is
   * tried again for half of the time that the ack has; the other half is for the one who does the work
   * once it is there. After that the lease comes back uncharged, and its job gets another.
   */
  #readLater(unread: readonly Offered[], delivery: Delivery): void {
    const { nowMs, clock, withdraw } = delivery
    // Between two commands the time of the state lags behind the clock, unless that went back.
    const at = Math.max(nowMs(), clock.now())
    let waitMs = READ_AGAIN_MS
    const again: Offered[] = []
    for (const one of unread) {
      if (this.#listenerFor(one) === undefined) continue
      const leftMs = ackDueAt(one.lease) - Math.ceil(one.lease.terms.ackTimeoutMs / 2) - at
      if (leftMs <= 0) withdraw(one.lease.id)
      else {
        again.push(one)
        waitMs = Math.min(waitMs, leftMs)
      }
    }
    if (again.length === 0) return
    clock.wakeAt(clock.now() + waitMs, () => void this.#pushRead(again, delivery))
  }

  /**
   * By now the lease may have ended, or its worker be gone; then whoever comes next hears of it. To
   * another worker it goes with the batch that moved it, which may not be stored yet.
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

  /** The engine closes, and with it every session. */
  closeAll(): void {
    const closed = new FairleadError('StoreUnavailable', 'the engine was closed; open it again')
    for (const workers of this.#connections.values()) {
      for (const { listener } of workers.values()) guarded(() => listener.closed(closed))
    }
    this.#connections.clear()
  }

  /** The listener of a worker that may hear of single leases. */
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
