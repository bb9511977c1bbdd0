import { invalidParams } from '../../errors.ts'
import type { FundPolicy } from '../../policy/fund-hash.ts'
import { readFundPolicy, showFundPolicy } from '../../policy/fund-json.ts'
import type { Batch } from './batch.ts'
import { readBatch, showBatch } from './batch-json.ts'
import { fieldsOf, hashIn, type Json, listIn, partIn, textIn } from './json-field.ts'
import {
  appendPayoutLine,
  type PayoutLine,
  readClaimLine,
  readPayoutLine,
  showClaimLine,
  showPayoutLine,
} from './line.ts'
import { type MerkleSibling, type MerkleTree, merkleProof, merkleTree } from './merkle.ts'
import type { WholeBatch } from './verify-batch.ts'

/** Names of the two files by which settlements are verified elsewhere. A new form gets a new name. */
export const BATCH_FORMAT = 'fairlead-batch-1'
export const PAYOUTS_FORMAT = 'fairlead-payouts-1'

/** A batch with all its lines, as a file has it (SETTLE-17). */
export interface SettledBatch extends WholeBatch {
  /** The policy that `policy_hash` is of; null if the file leaves it out. */
  readonly policy: FundPolicy | null
}

/** The payouts of one provider in a batch, each with its way to the root (SETTLE-18). */
export interface PayoutProof {
  readonly batchId: string
  readonly batch: Batch
  readonly providerId: string
  readonly payouts: readonly ProvedPayout[]
}

export interface ProvedPayout {
  readonly line: PayoutLine
  readonly siblings: readonly MerkleSibling[]
}

/** The JSON form of a batch with all its lines. `readSettlement` gives the same again. */
export function showSettledBatch(settled: SettledBatch): Record<string, unknown> {
  const { batchId, batch, policy, claims, payouts } = settled
  return {
    format: BATCH_FORMAT,
    batch_id: batchId,
    batch: showBatch(batch),
    policy: policy === null ? null : showFundPolicy(policy),
    claims: claims.map(showClaimLine),
    payouts: payouts.map(showPayoutLine),
  }
}

/** The JSON form of a provider's payouts. `readSettlement` gives the same again. */
export function showPayoutProof(proof: PayoutProof): Record<string, unknown> {
  const { batchId, batch, providerId, payouts } = proof
  return {
    format: PAYOUTS_FORMAT,
    batch_id: batchId,
    batch: showBatch(batch),
    provider_id: providerId,
    payouts: payouts.map(({ line, siblings }) => ({ line: showPayoutLine(line), siblings })),
  }
}

export type Settlement =
  | ({ readonly format: typeof BATCH_FORMAT } & SettledBatch)
  | ({ readonly format: typeof PAYOUTS_FORMAT } & PayoutProof)

/** Either file from its JSON form, or `InvalidParams` naming the field. Only its form is checked. */
export function readSettlement(json: unknown): Settlement {
  const format = Object(json)['format'] as unknown
  if (format === PAYOUTS_FORMAT) {
    const fields = fieldsOf(json, 'file', PAYOUTS_KEYS)
    return {
      format,
      ...listedIn(fields),
      providerId: textIn(fields, 'provider_id'),
      payouts: listIn(fields, 'payouts', provedIn),
    }
  }
  if (format !== BATCH_FORMAT) {
    throw invalidParams('format', `${BATCH_FORMAT} or ${PAYOUTS_FORMAT}`)
  }
  const fields = fieldsOf(json, 'file', BATCH_KEYS)
  const { policy = null } = fields
  return {
    format,
    ...listedIn(fields),
    policy: policy === null ? null : readFundPolicy(policy),
    claims: listIn(fields, 'claims', readClaimLine),
    payouts: listIn(fields, 'payouts', readPayoutLine),
  }
}

/** The proof of a provider's payouts, from a whole batch and the tree of its payouts, if that is at hand. */
export function payoutProofOf(
  { batchId, batch, payouts }: Omit<WholeBatch, 'claims'>,
  providerId: string,
  tree: MerkleTree = merkleTree(payouts, appendPayoutLine),
): PayoutProof {
  const proved = payouts.flatMap((line, i): ProvedPayout[] =>
    line.claim.providerId === providerId ? [{ line, siblings: merkleProof(tree, i) }] : [],
  )
  return { batchId, batch, providerId, payouts: proved }
}

const BATCH_KEYS = ['format', 'batch_id', 'batch', 'policy', 'claims', 'payouts'] as const
const PAYOUTS_KEYS = ['format', 'batch_id', 'batch', 'provider_id', 'payouts'] as const

function listedIn(fields: Json): Pick<WholeBatch, 'batchId' | 'batch'> {
  return {
    batchId: hashIn(fields, 'batch_id'),
    batch: partIn(fields, 'batch', readBatch),
  }
}

function provedIn(json: unknown): ProvedPayout {
  const fields = fieldsOf(json, 'payout', ['line', 'siblings'])
  return {
    line: partIn(fields, 'line', readPayoutLine),
    siblings: listIn(fields, 'siblings', siblingIn),
  }
}

function siblingIn(json: unknown): MerkleSibling {
  const fields = fieldsOf(json, 'sibling', ['side', 'hash'])
  const { side } = fields
  if (side !== 'left' && side !== 'right') throw invalidParams('side', 'left or right')
  return { side, hash: hashIn(fields, 'hash') }
}
