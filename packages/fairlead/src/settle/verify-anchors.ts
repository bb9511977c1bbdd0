import {
  type AuditEntry,
  type AuditHead,
  type BatchFault,
  EMPTY_AUDIT,
  type ListedBatch,
  unanchoredBatch,
} from '@fairlead/core'
import { type Verified, verifyFile } from '../audit.ts'
import { misuse } from '../flags/flags.ts'

export interface AnchorReport {
  /** The entries that were checked, and the last of them. */
  readonly audit: Verified
  /** The first thing that is wrong; `batchId` is null if it is the log itself. */
  readonly problem: { readonly batchId: string | null; readonly fault: BatchFault } | null
}

/** Checks an exported audit log, and that it bears out each batch (SETTLE-16). */
export async function verifyAnchors(
  file: string,
  batches: readonly ListedBatch[],
): Promise<AnchorReport> {
  const anchors = new Set(batches.map(({ batch }) => batch.auditSeq))
  // A log may have millions of entries; these few decide.
  const kept: AuditEntry[] = []
  let start: AuditHead | null = null
  const onEntry = (entry: AuditEntry): void => {
    start ??= { seq: entry.seq - 1, hash: entry.prevHash }
    if (anchors.has(entry.seq) || entry.action === 'epochSettled') kept.push(entry)
  }
  const audit = await verifyFile(file, { flag: '--audit', onEntry })
  if (audit.broken_seq !== null) {
    const found = 'one that does not follow from the entry before'
    const fault = { field: `entry ${audit.broken_seq}`, expected: 'the next link', found }
    return { audit, problem: { batchId: null, fault } }
  }
  const head = start ?? EMPTY_AUDIT
  refuseLateStart(file, head, batches)
  const batchId = unanchoredBatch(kept, batches, head)
  const listed = batches.find((each) => each.batchId === batchId)
  if (batchId === null || listed === undefined) return { audit, problem: null }
  return { audit, problem: { batchId, fault: anchorFault(listed, [head, ...kept], audit.head) } }
}

/** A log that begins behind an anchor says nothing about its batch. */
function refuseLateStart(file: string, head: AuditHead, batches: readonly ListedBatch[]): void {
  const early = batches.find(({ batch }) => batch.auditSeq < head.seq)
  if (early === undefined) return
  const { epochId, auditSeq } = early.batch
  const after = Math.max(0, auditSeq - 1)
  throw misuse(
    `--audit: ${file} begins behind entry ${auditSeq}, to which the batch of epoch ${epochId} is bound; export more: fairlead audit export --after ${after}`,
  )
}

function anchorFault(
  { batch, batchId }: ListedBatch,
  entries: readonly AuditHead[],
  end: AuditHead,
): BatchFault {
  const { auditSeq, auditHead } = batch
  const anchor = entries.find(({ seq }) => seq === auditSeq)
  if (anchor === undefined) {
    const expected = `at most ${end.seq}, where the log ends`
    return { field: 'batch.audit_seq', expected, found: `${auditSeq}` }
  }
  if (anchor.hash !== auditHead) {
    return { field: 'batch.audit_head', expected: anchor.hash, found: auditHead }
  }
  return {
    field: `epochSettled with ${batchId}`,
    expected: `an entry behind ${auditSeq}`,
    found: 'none',
  }
}
