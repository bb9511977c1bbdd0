import { TransitMap } from '../collections/transit-map.ts'
import { KINDS } from '../enqueue/kinds.ts'
import type { Market } from '../market/market.ts'
import type { Policy } from '../policy/policy.ts'
import type { Worker } from '../registry/workers.ts'
import type { Lease } from './lease.ts'

/** Books a live lease, new or loaded, with its provider, its worker and the deadlines. */
export function holdLease(market: Market, lease: Lease): void {
  const { provider } = lease
  provider.liveLeases++
  let leases = market.leasesOf.get(provider.id)
  if (leases === undefined) {
    leases = new TransitMap()
    market.leasesOf.set(provider.id, leases)
  }
  leases.set(lease.id, lease)
  market.due.leaseDeadline.enter(lease)
  if (!lease.isAcked) market.due.ack.enter(lease)
  if (lease.timeoutAt !== null) market.due.timeout.enter(lease)
  const worker = workerOf(lease)
  if (worker === null) return
  worker.leases++
  if (worker.goneSince !== null) strandLease(market, lease)
}

/**
 * The worker of a live lease has left. It has some time to return (WORKER-4). Meanwhile a lease that it did not
 * ack may move to another worker (WORKER-3).
 */
export function strandLease(market: Market, lease: Lease): void {
  market.due.lost.enter(lease)
  if (!lease.isAcked) market.stranded.add(lease)
}

/** The lease is with a connected worker again, or has ended. */
export function unstrandLease(market: Market, lease: Lease): void {
  market.due.lost.leave(lease)
  market.stranded.delete(lease)
}

/** The worker that a lease was pushed to; null if its provider is not served by workers. */
export function workerOf({ provider, workerId }: Lease): Worker | null {
  return workerId === null ? null : (provider.workers?.byId.get(workerId) ?? null)
}

/** When the lease of a worker that has left is given back (WORKER-4). */
export function lostDueAt(lease: Lease, policy: Policy): number {
  const goneSince = workerOf(lease)?.goneSince ?? null
  if (goneSince === null) return Number.POSITIVE_INFINITY
  return goneSince + KINDS[lease.job.shape.kind].workerLostMs(policy)
}

/** Oldest first, then by id. The order does not depend on how the leases came into memory. */
export function olderFirst(a: Lease, b: Lease): number {
  return a.tStart - b.tStart || (a.id < b.id ? -1 : 1)
}
