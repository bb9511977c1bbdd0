import { addUnits } from '../admit/quotas.ts'
import { invariant } from '../errors.ts'
import type { CancelReason, Market } from '../market/market.ts'
import { dropWorkerLease } from '../registry/workers.ts'
import { unstrandLease, workerOf } from './hold-lease.ts'
import type { Lease } from './lease.ts'
import { type LeaseEvent, nextLeaseStatus } from './lease-table.ts'

/**
 * Ends a live lease. The provider gets its slot back, and units and fair share are set to the actual usage, which
 * is nothing without a completion (QUOTA-2, FAIR-3). Its holds on limits are completed, with the actual tokens if
 * they are known (ADMIT-5).
 */
export function endLease(
  market: Market,
  lease: Lease,
  on: Exclude<LeaseEvent, 'renew'>,
  actualUnits: number,
  actualTokens: number | null = null,
): void {
  const status = nextLeaseStatus(lease.status, on)
  invariant(status !== null, 'only a live lease can end')
  const { job, provider } = lease
  const { kind } = job.shape
  lease.status = status
  // The end of an acked attempt resets the count of lost workers. `loseWorker` sets the increased count afterwards.
  if (lease.isAcked && job.workerLosses > 0) job.workerLosses = 0
  market.due.leaseDeadline.leave(lease)
  market.due.timeout.leave(lease)
  market.due.ack.leave(lease)
  unstrandLease(market, lease)
  provider.liveLeases--
  const leases = market.leasesOf.get(provider.id)
  leases?.delete(lease.id)
  if (leases?.size === 0) market.leasesOf.delete(provider.id)
  const worker = workerOf(lease)
  if (worker !== null && provider.workers !== null) dropWorkerLease(provider.workers, worker)
  addUnits(provider, kind, lease.epoch, actualUnits - job.units)
  market.queues.get(kind)?.bookActualUnits(job, actualUnits)
  const excess = market.limits.end(lease.id, job, actualTokens, market.nowMs)
  for (const { key, amount } of excess) {
    market.emit({ type: 'limitExcess', at: market.nowMs, leaseId: lease.id, key, amount })
  }
  market.touch.lease(lease)
  market.touch.provider(provider)
}

/** Ends a live lease as CANCELLED with a reason. The caller decides about the job. */
export function cancelLive(
  market: Market,
  lease: Lease,
  reason: CancelReason,
  answer: { readonly code?: string; readonly http?: number; readonly sentAfterMs?: number } = {},
): void {
  endLease(market, lease, 'cancel', 0)
  market.emit({ type: 'leaseCancelled', at: market.nowMs, leaseId: lease.id, reason, ...answer })
}
