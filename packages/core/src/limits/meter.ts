import type { ExactInt } from '../encoding/exact-int.ts'
import type { Limit } from './limit-definition.ts'

/**
 * One limit and what is held of it. To look changes nothing: `fits`, `waitMs` and `view` reckon with a time, so the
 * state depends on the changes alone. A change needs `advance` to its time first.
 */
export interface Meter {
  /** As it was in force at the last change. */
  readonly limit: Limit
  /** The lower capacity that waits until enough has ended, with the fields that come with it. */
  readonly waiting: Limit | null
  /** The most that one reserve may ask for; while decreasing that of the new definition. */
  readonly amountMax: number
  /** Ends what has run out, and applies what waited for that. */
  advance(nowMs: number): void
  /** A new definition of the same kind (LIMIT-13). */
  redefine(limit: Limit): void
  fits(amount: number, nowMs: number): boolean
  /** For an amount that does not fit: the time until enough has ended (LIMIT-11). */
  waitMs(amount: number, nowMs: number): number
  /** Holds an amount, whether or not it fits, and says when that hold ends. */
  take(amount: number, nowMs: number): number
  /** Puts actual usage in the place of what was reserved; null: none was given (LIMIT-12). */
  bookActual(use: ActualUse): void
  /** Nothing is held any more, and a lease from before a time has no part in it (LIMIT-20). */
  reset(from: number): void
  /** Leases that were reserved before this time hold nothing here. */
  readonly countsFrom: number
  /** As people are shown it, at a time. */
  view(nowMs: number): MeterView
  state(): MeterState
}

export interface MeterView {
  readonly limit: Limit
  readonly waiting: Limit | null
  /** What is held, or null for a bucket. */
  readonly held: ExactInt | null
  /** Millionths of a token in a bucket, else null. */
  readonly levelMicro: ExactInt | null
}

export interface ActualUse {
  readonly reserved: number
  readonly actual: ExactInt | null
  /** As `take` gave it. */
  readonly end: number
  readonly nowMs: number
}

/** All that decides, as data, as of the last `advance`. */
export interface MeterState {
  readonly limit: Limit
  readonly waiting: Limit | null
  /** Of a window or concurrency: what is held, by its end. Of a bucket: empty. */
  readonly holds: readonly (readonly [end: number, amount: ExactInt])[]
  /** Of a bucket alone: its level and when it had that. */
  readonly bucket: { readonly levelMicro: ExactInt; readonly atMs: number } | null
  readonly countsFrom: number
}
