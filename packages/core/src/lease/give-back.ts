import type { LeaseId } from '../encoding/ids.ts'
import type { CancelReason, Market } from '../market/market.ts'
import { ENGINE_ERRORS } from '../outcome/attempt-error.ts'
import { backoffMs } from '../outcome/backoff.ts'
import { endJob } from '../outcome/end-job.ts'
import { requeueJob } from '../outcome/requeue.ts'
import { cancelLive } from './end-lease.ts'
import type { Lease } from './lease.ts'
import { isLive } from './lease-table.ts'

/** The reasons for which a lease may come back from its worker. */
export type GiveBackReason = Extract<CancelReason, 'released' | 'disowned' | 'worker_lost'>

/** A lease comes back from its worker. Its job is queued at once, and nobody is charged (LEASE-9). */
export function giveBack(market: Market, lease: Lease, reason: GiveBackReason): void {
  const { job } = lease
  // The job may have killed the worker. For a registration, its session decides what to do next.
  const isLoss = reason !== 'released' && lease.isAcked && job.session === null
  if (isLoss) return loseWorker(market, lease, reason)
  cancelLive(market, lease, reason)
  requeueJob(market, job, { on: 'giveBack', reason: 'RELEASED', notBefore: null })
}

/**
 * The worker of an acked attempt is gone. The job waits for its backoff without a charge, so that it does not take
 * down one worker after another. Too many such losses in a row end it (WORKER-16).
 */
function loseWorker(market: Market, lease: Lease, reason: GiveBackReason): void {
  const { job } = lease
  const losses = job.workerLosses + 1
  cancelLive(market, lease, reason)
  job.workerLosses = losses
  market.touch.failure(lease, ENGINE_ERRORS.WORKER_LOST)
  const { workerLostMax } = market.policy.queue.retries
  if (workerLostMax !== null && losses >= workerLostMax) {
    return endJob(market, job, { on: 'giveBack', isLast: true, reason: 'worker_lost' })
  }
  const notBefore = market.nowMs + backoffMs(job, job.retries, market.policy)
  requeueJob(market, job, { on: 'giveBack', reason: 'WORKER_LOST', notBefore })
}

/**
 * An offer could not be delivered, which is not the worker's fault. The lease comes back as if the worker had
 * released it. A lease that is acked or has ended stays as it is.
 */
export function withdrawLease(market: Market, leaseId: LeaseId): void {
  const lease = market.leases.get(leaseId)
  if (lease === undefined || !isLive(lease.status) || lease.isAcked) return
  giveBack(market, lease, 'released')
}
