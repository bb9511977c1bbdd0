import type { CancelReason, Market } from '../market/market.ts'
import { requeueJob } from '../outcome/requeue.ts'
import { cancelLive } from './end-lease.ts'
import type { Lease } from './lease.ts'

/** The dispatcher takes a lease back. Its job is queued at once, and nobody is charged (LEASE-7). */
export function cancelLease(market: Market, lease: Lease, reason: CancelReason): void {
  cancelLive(market, lease, reason)
  requeueJob(market, lease.job, { on: 'giveBack', reason: 'LEASE_CANCELLED', notBefore: null })
}
