import { floorDiv } from '../../encoding/exact-int.ts'
import type { Traps } from '../../settle/proof/proof-body.ts'

/** The results that count for or against a provider (SLA-1). Everything else that ends a lease counts for nothing. */
export const SLA_RESULTS = [
  'completed',
  'provider_fail',
  'proof_invalid',
  'ack_timeout',
  'lease_expired',
] as const
export type SlaResult = (typeof SLA_RESULTS)[number]

/** One outcome of a provider's work of one kind. */
export interface Outcome {
  readonly result: SlaResult
  /** The epoch of the completion of the job, or of the charge. */
  readonly epoch: number
  /** Milliseconds for each estimated unit; null unless it is a completion. */
  readonly unitMs: number | null
  /** From a signed proof with traps, also from one that failed by them; else null. */
  readonly traps: Traps | null
}

/**
 * The time of a completion for each estimated unit (SLA-2). The requester chooses the size of its job, so a long job is
 * not a slow one. `gapMs` is the dispatcher's own downtime.
 */
export function unitMs(run: {
  readonly elapsedMs: number
  readonly gapMs: number
  readonly estimatedUnits: number
}): number {
  const ms = Math.max(0, run.elapsedMs - run.gapMs)
  return floorDiv(ms, Math.max(1, run.estimatedUnits)) as number
}
