import type { LeaseId, ProviderId, WorkerId } from '../encoding/ids.ts'
import { FairleadError, invariant } from '../errors.ts'
import type { Market } from '../market/market.ts'
import { timeoutMsOf } from '../options/terms.ts'
import { denyProvider } from '../outcome/charge.ts'
import { endJob } from '../outcome/end-job.ts'
import { moveJob } from '../outcome/move-job.ts'
import { requeueJob } from '../outcome/requeue.ts'
import { changeHealth, HEALTH, hasHealth } from '../registry/health.ts'
import { classKey } from '../registry/provider.ts'
import { cancelLive } from './end-lease.ts'
import { giveBack } from './give-back.ts'
import { type Lease, renewalMs, renewBy } from './lease.ts'
import { isLive, nextLeaseStatus } from './lease-table.ts'

/** A caller and the lease that it calls about. */
export interface LeaseCall {
  readonly leaseId: LeaseId
  readonly by: ProviderId
  /** The worker that calls. If left out, any worker of the provider may call. */
  readonly workerId?: WorkerId | undefined
}

const CLASS_COOLDOWN_SECS = 30
const DECLINES_BEFORE_DENIAL = 2
const DENIAL_SECS = 600
const DECLINES_MAX = 16

/** The lease, if it exists and the caller is its holder (LEASE-8, WORKER-6). */
export function heldLease(market: Market, { leaseId, by, workerId }: LeaseCall): Lease {
  const lease = market.leases.get(leaseId)
  if (lease === undefined) {
    throw new FairleadError('NotFound', `there is no lease ${leaseId}`, { leaseId })
  }
  if (lease.provider.id !== by) {
    throw new FairleadError('Forbidden', `lease ${leaseId} is held by another provider`, {
      leaseId,
    })
  }
  if (workerId !== undefined && lease.workerId !== null && lease.workerId !== workerId) {
    throw heldByOther(leaseId, lease.workerId)
  }
  return lease
}

/** The answer to a worker that acts on a lease of another worker of its provider (WORKER-6). */
export function heldByOther(leaseId: LeaseId, workerId: WorkerId): FairleadError {
  const message = `lease ${leaseId} is held by the worker ${workerId}; stop this attempt`
  return new FairleadError('Forbidden', message, { leaseId, workerId })
}

/** The caller's lease, if it is still live (LEASE-6). */
export function liveHeldLease(market: Market, call: LeaseCall): Lease {
  const lease = heldLease(market, call)
  refuseEnded(lease)
  return lease
}

/** Refuses any action on an ended lease (LEASE-6). */
export function refuseEnded({ id: leaseId, status, attempt }: Lease): void {
  if (isLive(status)) return
  throw new FairleadError(
    'LeaseNotLive',
    `lease ${leaseId} is ${status}; stop this attempt, the job goes on without it`,
    { leaseId, status, attempt },
  )
}

/** The provider accepts the offer. A second ack gets the same answer (LEASE-3). */
export function ackLease(market: Market, call: LeaseCall): Lease {
  const lease = liveHeldLease(market, call)
  if (lease.isAcked) return lease
  moveJob(market, lease.job, 'ack')
  lease.isAcked = true
  market.touch.lease(lease)
  market.due.ack.leave(lease)
  const timeoutMs = timeoutMsOf(lease.job, market.policy)
  if (timeoutMs !== null) {
    lease.timeoutAt = market.nowMs + timeoutMs
    market.due.timeout.enter(lease)
  }
  market.stranded.delete(lease)
  const { id: jobId } = lease.job
  market.emit({ type: 'jobStarted', at: market.nowMs, jobId, leaseId: lease.id })
  return lease
}

/** Gives a running attempt more time (LEASE-4, LEASE-5). */
export function renewLease(market: Market, call: LeaseCall): Lease {
  const lease = liveHeldLease(market, call)
  const { terms, provider } = lease
  if (!lease.isAcked) {
    throw new FairleadError('InvalidState', `lease ${lease.id} was not acked; ack it first`, {
      leaseId: lease.id,
    })
  }
  if (lease.tDeadline - market.nowMs > terms.lengthMs) return lease
  if (terms.renewalsMax !== null && lease.renewals >= terms.renewalsMax) {
    throw new FairleadError(
      'RenewalsExhausted',
      `lease ${lease.id} was renewed ${lease.renewals} times, the most allowed; it runs until its deadline`,
      { leaseId: lease.id, renewalsMax: terms.renewalsMax },
    )
  }
  const isLate = market.nowMs > renewBy(lease)
  const status = nextLeaseStatus(lease.status, 'renew')
  invariant(status !== null, 'a live lease can be renewed')
  lease.status = status
  lease.renewals++
  lease.tDeadline += renewalMs(terms)
  market.touch.lease(lease)
  market.emit({
    type: 'leaseRenewed',
    at: market.nowMs,
    leaseId: lease.id,
    deadline: lease.tDeadline,
  })
  if (isLate) changeHealth(market, provider, HEALTH.lateRenewal)
  return lease
}

/**
 * The provider declines the job without a charge. It cools down for jobs of this class. From the job's third
 * decline on, it is denied this job instead, and the sixteenth decline ends the job (RETRY-5). If health is off, a
 * decline tells nothing about other jobs: the provider is denied this job for a while.
 */
export function declineLease(market: Market, call: LeaseCall): Lease {
  const lease = liveHeldLease(market, call)
  const { job, provider } = lease
  cancelLive(market, lease, 'declined')
  job.declines++
  if (job.declines >= DECLINES_MAX) {
    endJob(market, job, { on: 'decline', isLast: true, reason: 'declined' })
    return lease
  }
  if (!hasHealth(market)) {
    denyProvider(job, provider.id, market.nowMs + 1_000 * CLASS_COOLDOWN_SECS)
  } else if (job.declines > DECLINES_BEFORE_DENIAL) {
    denyProvider(job, provider.id, market.nowMs + 1_000 * DENIAL_SECS)
  } else {
    const { kind, model } = job.shape
    const key = classKey(kind, model)
    const until = market.nowMs + 1_000 * CLASS_COOLDOWN_SECS
    const old = provider.classCooldowns.get(key)?.until ?? 0
    for (const [other, { until: end }] of provider.classCooldowns) {
      if (end <= market.nowMs) provider.classCooldowns.delete(other)
    }
    provider.classCooldowns.set(key, { kind, model, until: Math.max(until, old) })
  }
  requeueJob(market, job, { on: 'decline', reason: 'DECLINED', notBefore: null })
  return lease
}

/** A stopping worker gives its lease back. The job is queued at once, and nothing is charged (LEASE-9). */
export function releaseLease(market: Market, call: LeaseCall): Lease {
  const lease = liveHeldLease(market, call)
  giveBack(market, lease, 'released')
  return lease
}
