import type { ExactInt } from '../encoding/exact-int.ts'
import type { Limit } from './limit-definition.ts'

/**
 * One limit and the amounts that are held of it. Reads change nothing: `fits`, `waitMs` and `view` take a time, so
 * the state depends on the changes alone. A change needs `advance` to its time first.
 */
export interface Meter {
  /** The limit in force at the last change. */
  readonly limit: Limit
  /** A definition with a lower capacity, which waits until enough holds have ended. */
  readonly waiting: Limit | null
  /** The most that one reserve may ask for. During a decrease, the new definition sets it. */
  readonly amountMax: number
  /** Ends holds that have run out, and applies a waiting definition if possible. */
  advance(nowMs: number): void
  /** Adopts a new definition of the same kind (LIMIT-13). */
  redefine(limit: Limit): void
  fits(amount: number, nowMs: number): boolean
  /** For an amount that does not fit: the time until enough holds have ended (LIMIT-11). */
  waitMs(amount: number, nowMs: number): number
  /** Holds an amount, even if it does not fit, and returns when that hold ends. */
  take(amount: number, nowMs: number): number
  /** Replaces the reserved amount by the actual usage; null if none was given (LIMIT-12). */
  bookActual(use: ActualUse): void
  /** Frees everything. A lease reserved before `from` no longer counts (LIMIT-20). */
  reset(from: number): void
  /** Leases that were reserved before this time hold nothing here. */
  readonly countsFrom: number
  /** The form that people see, at a time. */
  view(nowMs: number): MeterView
  state(): MeterState
}

export interface MeterView {
  readonly limit: Limit
  readonly waiting: Limit | null
  /** The held amount; null for a bucket. */
  readonly held: ExactInt | null
  /** The level of a bucket in millionths of a token, else null. */
  readonly levelMicro: ExactInt | null
}

export interface ActualUse {
  readonly reserved: number
  readonly actual: ExactInt | null
  /** The end that `take` returned. */
  readonly end: number
  readonly nowMs: number
}

/** All state that influences decisions, as data, as of the last `advance`. */
export interface MeterState {
  readonly limit: Limit
  readonly waiting: Limit | null
  /** For a window or concurrency: the held amounts by their end. Empty for a bucket. */
  readonly holds: readonly (readonly [end: number, amount: ExactInt])[]
  /** For a bucket only: its level, and the time of that level. */
  readonly bucket: { readonly levelMicro: ExactInt; readonly atMs: number } | null
  readonly countsFrom: number
}
