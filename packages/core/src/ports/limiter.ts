import type { CompleteAnswer, ReserveAnswer } from '../limits/limit-answers.ts'
import type { Limit } from '../limits/limit-definition.ts'
import type { LimitView } from '../limits/limits.ts'
import type { Actual, Requirement } from '../limits/reserve-request.ts'

export interface ReserveRequest {
  /** New for each attempt. The same id again only repeats a call whose answer was lost. */
  readonly leaseId: string
  readonly requirements: readonly Requirement[]
}

export interface CompleteRequest {
  readonly leaseId: string
  /** The used amounts. A key that is not named stays as reserved. */
  readonly actuals?: readonly Actual[]
}

/**
 * Capacity: reserve before the work, complete after it. A decision is an answer, never an exception. Malformed
 * definitions and batches throw `InvalidParams`. If the backend is away, a reserve answers `backend_error`; ask
 * again with the same lease id.
 */
export interface Limiter {
  /** Defines or changes a limit. `actor` names who does so, for limiters that keep a log. */
  define(limit: Limit, by?: { readonly actor?: string | undefined }): Promise<LimitView>
  /** Frees all holds and debts of a limit; null if it does not exist. */
  reset(key: string, by?: { readonly actor?: string | undefined }): Promise<LimitView | null>
  /** False if it does not exist. */
  delete(key: string, by?: { readonly actor?: string | undefined }): Promise<boolean>
  list(): Promise<LimitView[]>
  get(key: string): Promise<LimitView | null>
  reserve(request: ReserveRequest): Promise<ReserveAnswer>
  complete(request: CompleteRequest): Promise<CompleteAnswer>
  /** 1 to 256 requests at once, each decided separately, in order. */
  reserveMany(requests: readonly ReserveRequest[]): Promise<ReserveAnswer[]>
  completeMany(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]>
  close(): Promise<void>
}
