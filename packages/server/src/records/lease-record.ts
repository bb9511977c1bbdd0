import type { LeaseOffer, LeaseRow, LeaseTimes } from '@fairlead/core'
import { renewBy } from '@fairlead/core/internal'
import { type Assignment, type Lease, PayloadView } from '@fairlead/protocol'

/** A stored lease as the wire has it. */
export function leaseRecord(row: LeaseRow): Lease {
  return {
    lease_id: row.id,
    task_id: row.jobId,
    provider_id: row.providerId,
    worker_id: row.workerId,
    attempt: row.attempt,
    status: row.status,
    issued_at: row.tStart / 1_000,
    ttl_seconds: row.lengthMs / 1_000,
    renewals: row.renewals,
    max_renewals: row.renewalsMax,
    t_start: row.tStart,
    t_deadline: row.tDeadline,
    renew_by: renewBy({ tDeadline: row.tDeadline, terms: row }),
    is_acked: row.isAcked,
    timeout_at: row.timeoutAt,
  }
}

/**
 * A lease on its way to its worker; before the ack it cannot have been renewed. The worker counts from when
 * it is told, which may be some time after the engine said it.
 */
export function assignmentRecord(offer: LeaseOffer, waitedMs: number): Assignment {
  return {
    lease_id: offer.leaseId,
    task_id: offer.jobId,
    provider_id: offer.providerId,
    attempt: offer.attempt,
    status: 'ACTIVE',
    issued_at: offer.tStart / 1_000,
    ttl_seconds: offer.lengthMs / 1_000,
    renewals: 0,
    max_renewals: offer.renewalsMax,
    t_start: offer.tStart,
    t_deadline: offer.deadline,
    renew_by: offer.renewBy,
    at: offer.at + waitedMs,
    ack_by: offer.ackBy,
    kind: offer.kind,
    model: offer.model,
    payload: new PayloadView(offer.payload as Uint8Array) as unknown as Assignment['payload'],
    traceparent: offer.traceparent,
    ...(offer.task === undefined ? {} : { task: offer.task }),
    ...(offer.rank === undefined ? {} : { rank: offer.rank }),
    ...(offer.idempotencyKey === undefined ? {} : { idempotency_key: offer.idempotencyKey }),
  }
}

/** The same for the times of one that the worker has. */
export function leaseTimesRecord(
  { leaseId, at, renewBy: by, deadline }: LeaseTimes,
  waitedMs: number,
): {
  lease_id: LeaseTimes['leaseId']
  at: number
  renew_by: number
  t_deadline: number
} {
  return { lease_id: leaseId, at: at + waitedMs, renew_by: by, t_deadline: deadline }
}
