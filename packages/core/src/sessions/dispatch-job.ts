import type { HeapItem } from '../collections/lazy-heap.ts'
import type { SessionEndStatus } from '../outcome/judge-attempt.ts'
import type { PlatformPolicy } from '../policy/platform-policy.ts'
import type { SessionJob } from './session-order.ts'

/** The final end of a registration. */
export interface SessionEnd {
  readonly status: SessionEndStatus
  /** Only a failure has a reason. */
  readonly reason: string | null
  readonly at: number
}

/** The stored state of a registration beside its entry in its session. */
export interface DispatchJobState {
  /** Attempts so far, the one in flight included. */
  attempts: number
  firstSentAt: number | null
  /** When the attempt in flight was sent; null while none is. A job has one attempt at a time. */
  sentAt: number | null
  /** When the backoff ends; null unless the job waits for a retry. */
  retryAt: number | null
  /** True if the last attempt may have booked. */
  isUnknown: boolean
  /** True if the job is to be cancelled when its attempt ends. */
  isCancelNoted: boolean
  /**
   * A lookup must find out until this time if an attempt has booked; null if none is needed. While `sentAt` is set
   * too, a lookup is in flight.
   */
  lookupUntil: number | null
  end: SessionEnd | null
}

/** A registration in progress. `heapBits` belongs to the queues that it waits in, and is not stored. */
export interface DispatchJob extends DispatchJobState, HeapItem {
  /** Replaced when the job loses its rank. */
  entry: SessionJob
}

export function newDispatchJob(entry: SessionJob): DispatchJob {
  return {
    entry,
    attempts: 0,
    firstSentAt: null,
    sentAt: null,
    retryAt: null,
    isUnknown: false,
    isCancelNoted: false,
    lookupUntil: null,
    end: null,
    heapBits: 0,
  }
}

/** The stored form of a job, beside its entry. */
export function dispatchJobState(job: DispatchJob): DispatchJobState {
  const { attempts, firstSentAt, sentAt, retryAt, isUnknown, isCancelNoted, lookupUntil, end } = job
  return { attempts, firstSentAt, sentAt, retryAt, isUnknown, isCancelNoted, lookupUntil, end }
}

/** When a waiting job can be sent; infinite before it has a rank (DISPATCH-2). */
export function readyAt({ retryAt, entry }: DispatchJob): number {
  return retryAt ?? entry.sendAt ?? Infinity
}

/** The last time at which a retry may start (ATTEMPT-4). */
export function windowEndsAt({ entry, firstSentAt }: DispatchJob, policy: PlatformPolicy): number {
  return Math.max(entry.scheduledTime, firstSentAt ?? 0) + policy.windowMs
}
