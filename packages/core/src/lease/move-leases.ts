import type { Market } from '../market/market.ts'
import { dropWorkerLease, freestWorker } from '../registry/workers.ts'
import { olderFirst, unstrandLease, workerOf } from './hold-lease.ts'
import type { Lease } from './lease.ts'

/**
 * Moves leases whose worker left before the ack to another worker of the same provider with a free slot, oldest
 * first (WORKER-3). Their ack deadline stays the same. A lease that finds no slot stays until there is one or its
 * time is over.
 */
export function moveStranded(market: Market): readonly Lease[] {
  if (market.stranded.size === 0) return []
  return [...market.stranded].sort(olderFirst).filter((lease) => moveLease(market, lease))
}

function moveLease(market: Market, lease: Lease): boolean {
  const { workers } = lease.provider
  const to = workers === null ? null : freestWorker(workers)
  if (workers === null || to === null) return false
  const from = workerOf(lease)
  unstrandLease(market, lease)
  lease.workerId = to.id
  to.leases++
  if (from !== null) dropWorkerLease(workers, from)
  market.touch.lease(lease)
  market.touch.provider(lease.provider)
  market.emit({ type: 'leaseMoved', at: market.nowMs, leaseId: lease.id, workerId: to.id })
  return true
}
