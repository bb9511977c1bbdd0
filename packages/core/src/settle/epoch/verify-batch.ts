import { type AuditEntry, EMPTY_AUDIT } from '../../audit/chain.ts'
import { FairleadError } from '../../errors.ts'
import { type Batch, batchIdOf } from './batch.ts'
import { appendClaimLine, appendPayoutLine, type ClaimLine, type PayoutLine } from './line.ts'
import { isInTree, leafOf, type MerkleSibling, merkleRoot, merkleTree } from './merkle.ts'

/** True if a payout line with its siblings belongs to a batch with this root. Needs nothing else (SETTLE-14). */
export function verifyPayoutLine(
  line: PayoutLine,
  siblings: readonly MerkleSibling[],
  payoutsRoot: string,
): boolean {
  return isInTree(leafOf(line, appendPayoutLine), siblings, payoutsRoot)
}

/** A batch with everything that it covers. */
export interface WholeBatch {
  readonly batchId: string
  readonly batch: Batch
  /** In the order of the roots, by claim key. */
  readonly claims: readonly ClaimLine[]
  readonly payouts: readonly PayoutLine[]
}

/** The first thing in a batch that does not follow from the rest; null if all of it holds (SETTLE-14). */
export function batchProblem({ batchId, batch, claims, payouts }: WholeBatch): string | null {
  if (idOrNull(batch) !== batchId) return 'batch_id'
  if (merkleRoot(merkleTree(claims, appendClaimLine)) !== batch.claimsRoot) return 'claims_root'
  if (merkleRoot(merkleTree(payouts, appendPayoutLine)) !== batch.payoutsRoot) return 'payouts_root'
  const { totals } = batch
  const lines = { claims: claims.length, payouts: payouts.length }
  if (lines.claims !== totals.claims || lines.payouts !== totals.payouts) return 'totals'
  const odd = payouts.find((line) => line.provider + line.miner + line.fund !== line.amount)
  return odd === undefined ? null : `payout ${odd.claim.claimKey}`
}

/** A batch and its id, as the log of batches has them, oldest first. */
export interface ListedBatch {
  readonly batchId: string
  readonly batch: Batch
}

/** The first batch whose id or link to the batch before it is wrong; null if the chain holds (SETTLE-12). */
export function brokenBatch(batches: Iterable<ListedBatch>, previous: string): string | null {
  let last = previous
  for (const { batchId, batch } of batches) {
    if (batch.prevBatchId !== last || idOrNull(batch) !== batchId) return batchId
    last = batchId
  }
  return null
}

/**
 * The first batch that the audit log does not bear out; null if it bears out all (SETTLE-16). The entry `audit_seq` has
 * the hash `audit_head`, and an `epochSettled` with the batch's id in its details follows. Entries come in their
 * order and from `head` on; batches whose anchor is before that are not looked at.
 */
export function unanchoredBatch(
  entries: Iterable<Pick<AuditEntry, 'seq' | 'hash' | 'action' | 'details'>>,
  batches: readonly ListedBatch[],
  head: { readonly seq: number; readonly hash: string } = EMPTY_AUDIT,
): string | null {
  const waiting = batches.filter(({ batch }) => batch.auditSeq >= head.seq)
  const anchors = new Map<number, ListedBatch[]>()
  for (const listed of waiting) {
    const { auditSeq } = listed.batch
    anchors.set(auditSeq, [...(anchors.get(auditSeq) ?? []), listed])
  }
  const anchored = new Set<string>()
  const anchor = (seq: number, hash: string): void => {
    for (const { batchId, batch } of anchors.get(seq) ?? []) {
      if (batch.auditHead === hash) anchored.add(batchId)
    }
  }
  const settled = new Set<unknown>()
  anchor(head.seq, head.hash)
  for (const { seq, hash, action, details } of entries) {
    const named = details['batchId']
    if (action === 'epochSettled' && anchored.has(named as string)) settled.add(named)
    anchor(seq, hash)
  }
  return waiting.find(({ batchId }) => !settled.has(batchId))?.batchId ?? null
}

/** A batch that has no encoding has no id either. */
function idOrNull(batch: Batch): string | null {
  try {
    return batchIdOf(batch)
  } catch (error) {
    if (error instanceof FairleadError && error.code === 'InvalidParams') return null
    throw error
  }
}
