import {
  type Actual,
  type CompleteAnswer,
  invalidParams,
  type Limit,
  type LimitView,
  type Requirement,
  type ReserveAnswer,
} from '@fairlead/core'

/** The most requests in one batch. */
export const BATCH_MAX = 256

export interface ReserveRequest {
  /** New for each attempt; the same again only to repeat a call whose answer was lost. */
  readonly leaseId: string
  readonly requirements: readonly Requirement[]
}

export interface CompleteRequest {
  readonly leaseId: string
  /** What was used; a key that is not named stays as reserved. */
  readonly actuals?: readonly Actual[]
}

/**
 * Capacity: reserve before the work, complete after it. A decision is an answer, never an exception;
 * `InvalidParams` is thrown for definitions and batches that are malformed. When the backend is away a
 * reserve answers `backend_error`: ask again with the same lease id.
 */
export interface Limiter {
  /** Defines a limit, or changes one. */
  define(limit: Limit): Promise<LimitView>
  list(): Promise<LimitView[]>
  get(key: string): Promise<LimitView | null>
  reserve(request: ReserveRequest): Promise<ReserveAnswer>
  complete(request: CompleteRequest): Promise<CompleteAnswer>
  /** 1 to 256 at once, each decided for itself, in order. */
  reserveMany(requests: readonly ReserveRequest[]): Promise<ReserveAnswer[]>
  completeMany(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]>
  close(): Promise<void>
}

/** Where the limits are kept: `memory()` or `redis(url)`. */
export interface LimiterBackend {
  open(limits: readonly Limit[]): Limiter
}

/** Refuses a batch that is empty or too large. */
export function checkBatch(requests: readonly unknown[]): void {
  if (requests.length < 1 || requests.length > BATCH_MAX) {
    throw invalidParams('requests', `1 to ${BATCH_MAX} of them`, String(requests.length))
  }
}
