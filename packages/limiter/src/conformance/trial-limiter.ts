import type { Limiter } from '@fairlead/core/limits'

/** A limiter on trial, and the hands of its clock. */
export interface TrialLimiter {
  readonly limiter: Limiter
  /** Moves the clock that the limiter goes by; it starts at `START`. */
  readonly advance: (ms: number) => void
  readonly close: () => Promise<void>
}

/** On a boundary of every slice and window that the suite uses. */
export const START = 1_767_261_600_000
