import {
  idempotencyKey,
  type JobId,
  type Lease,
  type LeaseOffer,
  type LeaseTimes,
} from '@fairlead/core'
import { ackDueAt, type DispatchJob, renewBy } from '@fairlead/core/internal'

/** The times of a lease as of `at`. */
export function leaseTimes(lease: Lease, at: number): LeaseTimes {
  return { leaseId: lease.id, at, renewBy: renewBy(lease), deadline: lease.tDeadline }
}

/** A lease with its payload, as pushed to its worker. */
export function leaseOffer(lease: Lease, payload: Uint8Array, at: number): LeaseOffer {
  const { id: leaseId, job, provider, attempt } = lease
  const offer: LeaseOffer = {
    leaseId,
    jobId: job.id,
    providerId: provider.id,
    attempt,
    kind: job.shape.kind,
    model: job.shape.model,
    payload,
    at,
    ackBy: ackDueAt(lease),
    renewBy: renewBy(lease),
    deadline: lease.tDeadline,
    tStart: lease.tStart,
    lengthMs: lease.terms.lengthMs,
    renewalsMax: lease.terms.renewalsMax,
    traceparent: job.origin?.traceparent ?? null,
  }
  return job.session === null ? offer : { ...offer, ...attemptOf(job.id, job.session) }
}

/** The fields that a worker needs for a registration beside its payload. */
function attemptOf(id: JobId, { entry, lookupUntil }: DispatchJob): Partial<LeaseOffer> {
  return {
    task: lookupUntil === null ? 'book' : 'lookup',
    rank: entry.rank ?? 0,
    idempotencyKey: idempotencyKey(id),
  }
}
