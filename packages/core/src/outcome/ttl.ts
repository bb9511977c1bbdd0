import { KINDS } from '../enqueue/kinds.ts'
import type { Job } from '../market/job.ts'
import type { Policy } from '../policy/policy.ts'

/** When the job's life since it was ready ends (TTL-1, OPTIONS-2). */
export function ttlAbsAt(job: Job, policy: Policy): number {
  const { ttlAbsSecs, session } = job
  // Its life begins when it is ready, and nobody knows when that will be.
  if (job.waitsFor > 0) return Number.POSITIVE_INFINITY
  if (ttlAbsSecs !== null) return job.readyTs + 1_000 * ttlAbsSecs
  const from = session === null ? job.readyTs : session.entry.scheduledTime
  const secs = KINDS[job.shape.kind].ttlAbsSecs(policy)
  return secs === null ? Number.POSITIVE_INFINITY : from + 1_000 * secs
}

/** When the job's life since its first assignment ends (TTL-1). */
export function ttlRelAt(job: Job, policy: Policy): number {
  const { relMaxSecs } = policy.queue.ttl
  if (job.firstAssignedAt === null || relMaxSecs === null) return Number.POSITIVE_INFINITY
  return job.firstAssignedAt + 1_000 * relMaxSecs
}

/** A job that ended at or before this time is deleted together with its leases (TTL-3). */
export function keptSince({ queue }: Policy, nowMs: number): number {
  return nowMs - 1_000 * queue.ttl.gcHorizonSecs
}
