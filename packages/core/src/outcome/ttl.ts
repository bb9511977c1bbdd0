import { KINDS } from '../enqueue/kinds.ts'
import type { Job } from '../market/job.ts'
import type { Policy } from '../policy/policy.ts'

/** When the job's life since its enqueue ends (TTL-1). */
export function ttlAbsAt(job: Job, policy: Policy): number {
  const { ttlAbsSecs, session } = job
  if (ttlAbsSecs !== null) return job.enqueueTs + 1_000 * ttlAbsSecs
  const from = session === null ? job.enqueueTs : session.entry.scheduledTime
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
