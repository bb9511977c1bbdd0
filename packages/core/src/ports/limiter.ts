import type { CompleteAnswer, ReserveAnswer } from '../limits/limit-answers.ts'
import type { Limit } from '../limits/limit-definition.ts'
import type { LimitView } from '../limits/limits.ts'
import type { Actual, Requirement } from '../limits/reserve-request.ts'

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
  /** Defines a limit, or changes one. `actor` is who does so, for limiters that keep a log of it. */
  define(limit: Limit, by?: { readonly actor?: string | undefined }): Promise<LimitView>
  /** Frees all that is held of a limit, debts too; null if there is none. */
  reset(key: string, by?: { readonly actor?: string | undefined }): Promise<LimitView | null>
  /** False if there is none. */
  delete(key: string, by?: { readonly actor?: string | undefined }): Promise<boolean>
  list(): Promise<LimitView[]>
  get(key: string): Promise<LimitView | null>
  reserve(request: ReserveRequest): Promise<ReserveAnswer>
  complete(request: CompleteRequest): Promise<CompleteAnswer>
  /** 1 to 256 at once, each decided for itself, in order. */
  reserveMany(requests: readonly ReserveRequest[]): Promise<ReserveAnswer[]>
  completeMany(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]>
  close(): Promise<void>
}
