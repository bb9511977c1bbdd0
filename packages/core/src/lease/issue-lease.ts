import { addUnits, epochOf } from '../admit/quotas.ts'
import { leaseId, type Seed, type WorkerId } from '../encoding/ids.ts'
import { invariant } from '../errors.ts'
import type { Job } from '../market/job.ts'
import type { Market } from '../market/market.ts'
import { moveJob } from '../outcome/move-job.ts'
import type { Provider } from '../registry/provider.ts'
import { freestWorker } from '../registry/workers.ts'
import type { DispatchJob } from '../sessions/dispatch-job.ts'
import { holdLease } from './hold-lease.ts'
import { type Lease, leaseTerms } from './lease.ts'

/**
 * Issues the lease that a round decided on: the provider has one lease more, and the estimated units less
 * (LEASE-1).
 */
export function issueLease(market: Market, job: Job, provider: Provider, seed: Seed): Lease {
  const { nowMs, policy } = market
  moveJob(market, job, 'match')
  const { kind } = job.shape
  market.queues.get(kind)?.remove(job)
  const attempt = job.attempt === null ? 0 : job.attempt + 1
  const terms = leaseTerms(kind, policy)
  const lease: Lease = {
    id: leaseId({ jobId: job.id, providerId: provider.id, attempt, seed }),
    job,
    provider,
    workerId: nextWorker(provider),
    attempt,
    terms,
    tStart: nowMs,
    epoch: epochOf(nowMs, policy),
    tDeadline: nowMs + terms.lengthMs,
    timeoutAt: null,
    renewals: 0,
    status: 'ACTIVE',
    isAcked: false,
    digest: null,
    heapBits: 0,
  }
  job.attempt = attempt
  job.notBefore = null
  // A list literal takes a third of the memory of an empty list that grows.
  if (job.leases === null) job.leases = [lease]
  else job.leases.push(lease)
  if (job.firstAssignedAt === null) {
    job.firstAssignedAt = nowMs
    market.due.enterTtls(job)
  }
  market.leases.set(lease.id, lease)
  holdLease(market, lease)
  addUnits(provider, kind, lease.epoch, job.units)
  market.touch.lease(lease)
  market.touch.provider(provider)
  if (market.admit !== null) {
    market.limits.hold(lease.id, market.admit.needs(job, provider.id), job, nowMs)
  }
  market.windows.record(job.caller, nowMs, policy)
  announceLease(market, lease)
  return lease
}

/** Fields in the order in which they are encoded, which saves a sort for every lease. */
function announceLease(market: Market, { id: leaseId, job, provider, tDeadline }: Lease): void {
  const { nowMs: at, emit } = market
  const { id: jobId, session } = job
  const { id: providerId } = provider
  if (session === null) {
    emit({ type: 'jobAssigned', at, jobId, leaseId, deadline: tDeadline, providerId }, job)
    return
  }
  const { rank, task } = attemptOf(session)
  emit({ type: 'jobAssigned', at, rank, task, jobId, leaseId, deadline: tDeadline, providerId })
}

/**
 * For a registration: its rank, and whether the attempt books or only looks up. A receipt is made from this later.
 */
function attemptOf({ entry, lookupUntil }: DispatchJob): {
  readonly rank: number
  readonly task: 'book' | 'lookup'
} {
  return { rank: entry.rank ?? 0, task: lookupUntil === null ? 'book' : 'lookup' }
}

/**
 * Picks the freest worker. One has room, because the cap counts all leases against the slots of connected workers.
 */
function nextWorker({ workers }: Provider): WorkerId | null {
  if (workers === null) return null
  const worker = freestWorker(workers)
  invariant(worker !== null, 'a provider below its cap has a worker with a free slot')
  return worker.id
}
