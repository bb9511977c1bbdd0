import {
  type JobId,
  type KindName,
  type Lease,
  type LeaseId,
  type ProviderId,
  renewBy,
  type Store,
} from '@fairlead/core'

/** A lease as its holder gets it, with the work. */
export interface LeaseOffer {
  readonly leaseId: LeaseId
  readonly jobId: JobId
  readonly providerId: ProviderId
  readonly attempt: number
  readonly kind: KindName
  readonly model: string | null
  /** Canonical CBOR. */
  readonly payload: Uint8Array
  readonly ackBy: number
  readonly renewBy: number
  readonly deadline: number
}

export function leaseOffer(lease: Lease, store: Store): LeaseOffer {
  const { id: leaseId, job, provider, attempt, terms, tStart, tDeadline } = lease
  return {
    leaseId,
    jobId: job.id,
    providerId: provider.id,
    attempt,
    kind: job.shape.kind,
    model: job.shape.model,
    payload: store.read.payload(job.id) ?? new Uint8Array(),
    ackBy: tStart + terms.ackTimeoutMs,
    renewBy: renewBy(lease),
    deadline: tDeadline,
  }
}
