import { fromHex } from '../../encoding/bytes.ts'
import { encodeCbor } from '../../encoding/cbor.ts'
import { taggedHashHex } from '../../encoding/hash.ts'
import { invalidParams } from '../../errors.ts'

/** The closed accounts of an epoch, in a form that proves its payments and its past (SETTLE-12). */
export interface Batch {
  readonly epochId: number
  /** The newest batch before it; 32 zero bytes for the first one. */
  readonly prevBatchId: string
  readonly claimsRoot: string
  readonly payoutsRoot: string
  readonly totals: Totals
  readonly policyHash: string
  /** Number and hash of the newest audit entry when the close was issued. */
  readonly auditSeq: number
  readonly auditHead: string
}

export interface Totals {
  /** Numbers of lines. */
  readonly claims: number
  readonly payouts: number
  /** The sum over the claim lines. */
  readonly gross: bigint
  readonly budget: bigint | null
  readonly paid: bigint
  readonly provider: bigint
  readonly miner: bigint
  /** With the debits. */
  readonly fund: bigint
  readonly slashed: bigint
  /** By provider: the part of a slash that came from its stake. */
  readonly debits: Readonly<Record<string, bigint>>
  /** By provider: matured stake that it got back. */
  readonly unstaked: Readonly<Record<string, bigint>>
  /** The sum of all that stays due. */
  readonly deferred: bigint
  readonly carry: bigint
}

/** In place of the id of a batch before the first one. */
export const NO_BATCH = `0x${'00'.repeat(32)}`

/** The id of a batch, over all of its content. */
export function batchIdOf(batch: Batch): string {
  const { epochId, totals } = batch
  const encoded = encodeCbor({
    epoch_id: epochId,
    prev_batch_id: bytes('prev_batch_id', batch.prevBatchId),
    claims_root: bytes('claims_root', batch.claimsRoot),
    payouts_root: bytes('payouts_root', batch.payoutsRoot),
    totals: { ...totals },
    policy_hash: bytes('policy_hash', batch.policyHash),
    audit_seq: batch.auditSeq,
    audit_head: bytes('audit_head', batch.auditHead),
  })
  return taggedHashHex('AICF|batch', encoded)
}

function bytes(field: string, hex: string): Uint8Array {
  const read = fromHex(hex)
  if (read?.length !== 32) throw invalidParams(field, '32 bytes as 0x hex')
  return read
}
