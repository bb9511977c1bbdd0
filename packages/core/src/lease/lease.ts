import type { HeapItem } from '../collections/lazy-heap.ts'
import type { LeaseId, WorkerId } from '../encoding/ids.ts'
import { KINDS, type KindName } from '../enqueue/kinds.ts'
import type { Job } from '../market/job.ts'
import type { Policy } from '../policy/policy.ts'
import type { Provider } from '../registry/provider.ts'
import type { LeaseStatus } from './lease-table.ts'

/** The terms that a lease gets when it is issued. Later policies do not change them (LEASE-1). */
export interface LeaseTerms {
  /** T. */
  readonly lengthMs: number
  readonly ackTimeoutMs: number
  /** α and β in thousandths. */
  readonly renewAlpha: number
  readonly renewBeta: number
  /** Null if the holder may renew without limit. */
  readonly renewalsMax: number | null
}

export interface Lease extends HeapItem {
  readonly id: LeaseId
  readonly job: Job
  readonly provider: Provider
  /** The worker that it was pushed to; null if the provider is not served by workers. */
  workerId: WorkerId | null
  readonly attempt: number
  terms: LeaseTerms
  readonly tStart: number
  /** The epoch whose quota the units came from. */
  readonly epoch: number
  tDeadline: number
  /** When the attempt has taken as long as its job allows, renewed or not; null without such an end (OPTIONS-5). */
  timeoutAt: number | null
  renewals: number
  status: LeaseStatus
  isAcked: boolean
  /** The hash of the output according to the completion. */
  digest: string | null
}

/** Leases of one kind under one policy share their terms. */
const termsOf = new WeakMap<Policy, Map<KindName, LeaseTerms>>()

export function leaseTerms(kind: KindName, policy: Policy): LeaseTerms {
  const known = termsOf.get(policy)?.get(kind)
  if (known !== undefined) return known
  const { renewAlpha, renewBeta, renewalsMax } = policy.queue.lease
  const lengthMs = 1_000 * KINDS[kind].leaseSecs(policy)
  const { ackTimeoutMs } = policy.queue
  const terms = { lengthMs, ackTimeoutMs, renewAlpha, renewBeta, renewalsMax }
  termsOf.set(policy, (termsOf.get(policy) ?? new Map<KindName, LeaseTerms>()).set(kind, terms))
  return terms
}

/** The time by which the holder should renew: `t_deadline − (1 − α)·T`, exact (LEASE-2). */
export function renewBy({ tDeadline, terms }: Pick<Lease, 'tDeadline' | 'terms'>): number {
  return tDeadline - thousandthsOf(terms.lengthMs, 1_000 - terms.renewAlpha)
}

/** The time that a renewal adds to the deadline: `β·T` (LEASE-4). */
export function renewalMs({ lengthMs, renewBeta }: LeaseTerms): number {
  return thousandthsOf(lengthMs, renewBeta)
}

/** The time at which an unacked lease is cancelled (LEASE-3). */
export function ackDueAt({ tStart, terms }: Pick<Lease, 'tStart' | 'terms'>): number {
  return tStart + terms.ackTimeoutMs
}

/** True for a lease that ends with its timeout, not with its deadline: the earlier of both, or both at once. */
export function isTimedOut({
  timeoutAt,
  tDeadline,
}: {
  readonly timeoutAt: number | null
  readonly tDeadline: number
}): boolean {
  return timeoutAt !== null && timeoutAt <= tDeadline
}

/** Exact, because a length is whole seconds. */
function thousandthsOf(ms: number, portion: number): number {
  return (ms / 1_000) * portion
}
