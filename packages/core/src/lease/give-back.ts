import type { LeaseId } from '../ids.ts'
import type { CancelReason, Market } from '../market.ts'
import { requeueJob } from '../outcome/requeue.ts'
import { cancelLive } from './end-lease.ts'
import type { Lease } from './lease.ts'
import { isLive } from './lease-table.ts'

/** Why a lease may come back from its worker. */
export type GiveBackReason = Extract<CancelReason, 'released' | 'disowned' | 'worker_lost'>

/** A lease comes back from its worker: its job is queued at once, and nobody is charged (LEASE-9). */
export function giveBack(market: Market, lease: Lease, reason: GiveBackReason): void {
  cancelLive(market, lease, reason)
  requeueJob(market, lease.job, { on: 'giveBack', reason: 'RELEASED', notBefore: null })
}

/**
 * An offer did not reach its worker, by no fault of its own: the lease comes back as if the worker had
 * given it back. One that is acked, or over by now, stays as it is.
 */
export function withdrawLease(market: Market, leaseId: LeaseId): void {
  const lease = market.leases.get(leaseId)
  if (lease === undefined || !isLive(lease.status) || lease.isAcked) return
  giveBack(market, lease, 'released')
}
