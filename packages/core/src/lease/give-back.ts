import type { CancelReason, Market } from '../market.ts'
import { requeueJob } from '../outcome/requeue.ts'
import { cancelLive } from './end-lease.ts'
import type { Lease } from './lease.ts'

/** Why a lease may come back from its worker. */
export type GiveBackReason = Extract<CancelReason, 'released' | 'disowned' | 'worker_lost'>

/** A lease comes back from its worker: its job is queued at once, and nobody is charged (LEASE-9). */
export function giveBack(market: Market, lease: Lease, reason: GiveBackReason): void {
  cancelLive(market, lease, reason)
  requeueJob(market, lease.job, { on: 'giveBack', reason: 'RELEASED', notBefore: null })
}
