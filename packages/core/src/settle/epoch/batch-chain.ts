import type { Batch } from './batch.ts'
import { NO_BATCH } from './batch.ts'
import type { PayoutProof, SettledBatch } from './batch-file.ts'
import type { DueLine } from './budget.ts'
import { type BatchFault, batchFault, type EarlierBatch, payoutProofFault } from './check-batch.ts'
import type { PreviousBatch } from './close-epoch.ts'
import { type CloseStart, impliedStart, recomputeClose, recomputeFault } from './recompute-close.ts'
import type { ListedBatch } from './verify-batch.ts'

export interface BatchVerdict {
  /** Null if the batch holds. */
  readonly fault: BatchFault | null
  /** True if the close was computed again, and gave this batch. */
  readonly isRecomputed: boolean
}

/** The batch before, and the lines that it left due; null for what is not known. */
interface Past {
  readonly earlier: EarlierBatch | null
  readonly due: readonly DueLine[] | null
}

const UNKNOWN: Past = { earlier: null, due: null }

/**
 * Verifies batches one after another, oldest first, each against the one before (SETTLE-19, SETTLE-20). It keeps what
 * the next one needs, so a chain of any length takes the memory of two. The first may have any number.
 */
export class BatchChain {
  #before: Past = UNKNOWN
  #after: Past = UNKNOWN

  /** A batch that has a fault does not count as the one before the next. */
  checkBatch(settled: SettledBatch): BatchVerdict {
    const past = this.#pastOf(settled)
    const fault = batchFault(settled, past.earlier)
    if (fault !== null) return { fault, isRecomputed: false }
    const again = closedAgain(settled, past)
    if (again.fault === null) this.#move(settled, past, again.due)
    return { fault: again.fault, isRecomputed: again.isRecomputed }
  }

  /** A provider's payouts stand for their batch, and may come before or after it. */
  checkPayouts(proof: PayoutProof): BatchFault | null {
    const past = this.#pastOf(proof)
    const fault = payoutProofFault(proof, past.earlier)
    if (fault !== null) return fault
    const isSame = this.#after.earlier?.batchId === proof.batchId
    this.#move(proof, past, isSame ? this.#after.due : dueOf(proof.batch))
    return null
  }

  #pastOf({ batchId }: ListedBatch): Past {
    return this.#after.earlier?.batchId === batchId ? this.#before : this.#after
  }

  #move({ batchId, batch }: ListedBatch, past: Past, due: readonly DueLine[] | null): void {
    this.#before = past
    this.#after = { earlier: { batchId, batch }, due }
  }
}

function closedAgain(
  settled: SettledBatch,
  past: Past,
): BatchVerdict & { readonly due: readonly DueLine[] | null } {
  const { batch, policy } = settled
  const notAgain = { fault: null, isRecomputed: false, due: dueOf(batch) }
  if (policy === null) return notAgain
  const start = knownStart(batch, past)
  const close = recomputeClose(settled, policy, start ?? impliedStart(settled, policy))
  const fault = recomputeFault(settled, close)
  if (fault === null) return { fault, isRecomputed: true, due: close.due }
  // From a start that is only implied, a difference proves nothing.
  return start === null ? notAgain : { fault, isRecomputed: false, due: null }
}

/** Null if the batch alone does not tell what was due before it. */
function knownStart({ epochId, prevBatchId }: Batch, { earlier, due }: Past): CloseStart | null {
  if (prevBatchId === NO_BATCH) return { previous: null, due: [] }
  if (earlier === null || due === null) return null
  // An epoch without a batch may lie between, in which a budget of 0 left nothing due.
  if (due.length > 0 && earlier.batch.epochId !== epochId - 1) return null
  return { previous: previousOf(earlier), due }
}

function previousOf({ batchId, batch }: EarlierBatch): PreviousBatch {
  return { batchId, epochId: batch.epochId, carry: batch.totals.carry }
}

/** The lines that a batch left due, as far as its totals tell. */
function dueOf({ totals }: Batch): readonly DueLine[] | null {
  return totals.deferred === 0n ? [] : null
}
