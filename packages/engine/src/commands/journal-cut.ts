import { type AuditEntry, type AuditHead, FairleadError, type Policy } from '@fairlead/core'
import type { StoreReads } from '@fairlead/core/internal'

/**
 * Finds the last entry that may be deleted: it is older than `beforeMs`, and every follower has seen it. The policy
 * keeps it neither for its age nor among the newest entries. Null if there is none (AUDIT-8).
 */
export async function findCut(
  read: Pick<StoreReads, 'journal'>,
  options: {
    readonly beforeMs: number
    readonly nowMs: number
    readonly policy: Policy['journal']
    /** The journal has the entries after `cut`, up to `lastSeq`. */
    readonly cut: AuditHead
    readonly lastSeq: number
    /** Every follower has acted on the events up to this one. */
    readonly followed: number
  },
): Promise<AuditHead | null> {
  const { beforeMs, nowMs, policy, cut, lastSeq, followed } = options
  const before = Math.min(beforeMs, nowMs - 1_000 * policy.keepSecs)
  let found: AuditEntry | null = null
  // Times never go back in the journal, which makes a binary search possible.
  let [low, high] = [cut.seq + 1, Math.min(followed, lastSeq - policy.keepEntries)]
  while (low <= high) {
    const middle = Math.floor((low + high) / 2)
    const [entry] = await read.journal(middle - 1, 1)
    if (entry?.seq === middle && entry.at < before) {
      found = entry
      low = middle + 1
    } else high = middle - 1
  }
  return found === null ? null : { seq: found.seq, hash: found.hash }
}

/** Throws `EventsPruned` if events after `afterSeq` were deleted (EVENT-4). */
export function refusePruned(afterSeq: number, cut: AuditHead): void {
  if (afterSeq >= cut.seq) return
  const oldest = cut.seq + 1
  throw new FairleadError(
    'EventsPruned',
    `events up to ${cut.seq} were deleted; ask for those after ${cut.seq}, and read what you know of anew`,
    { oldest_seq: oldest },
  )
}
