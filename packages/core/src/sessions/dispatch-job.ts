import type { HeapItem } from '../collections/lazy-heap.ts'
import type { SessionEndStatus } from '../outcome/judge-attempt.ts'
import type { PlatformPolicy } from '../policy/platform-policy.ts'
import type { SessionJob } from './session-order.ts'

/** How a registration ended, for good. */
export interface SessionEnd {
  readonly status: SessionEndStatus
  /** Only a failure has one. */
  readonly reason: string | null
  readonly at: number
}

/** What is stored of a registration beside its entry in its session. */
export interface DispatchJobState {
  /** Attempts so far, the one in flight included. */
  attempts: number
  firstSentAt: number | null
  /** When the attempt in flight was sent; null while none is. A job has one attempt at a time. */
  sentAt: number | null
  /** When the backoff ends, while the job waits for a retry. */
  retryAt: number | null
  /** The last attempt could have booked. */
  isUnknown: boolean
  /** To be cancelled when its attempt ends. */
  isCancelNoted: boolean
  /**
   * Somebody has to look whether an attempt has booked, until this time; null where nobody has to. While
   * `sentAt` is set, somebody does.
   */
  lookupUntil: number | null
  end: SessionEnd | null
}

/** A registration on its way; `heapBits` belongs to the queues it waits in and is not stored. */
export interface DispatchJob extends DispatchJobState, HeapItem {
  /** Another one when it loses its rank. */
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

/** Its stored form, beside its entry. */
export function dispatchJobState(job: DispatchJob): DispatchJobState {
  const { attempts, firstSentAt, sentAt, retryAt, isUnknown, isCancelNoted, lookupUntil, end } = job
  return { attempts, firstSentAt, sentAt, retryAt, isUnknown, isCancelNoted, lookupUntil, end }
}

/** From when on a waiting job can be sent; infinite before it has a rank (DISPATCH-2). */
export function readyAt({ retryAt, entry }: DispatchJob): number {
  return retryAt ?? entry.sendAt ?? Infinity
}

/** The last moment at which a retry may start (ATTEMPT-4). */
export function windowEndsAt({ entry, firstSentAt }: DispatchJob, policy: PlatformPolicy): number {
  return Math.max(entry.scheduledTime, firstSentAt ?? 0) + policy.windowMs
}
