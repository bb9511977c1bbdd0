import { type CborMap, type CborValue, decodeCbor, encodeCbor } from '../../encoding/cbor.ts'
import { jsonOf } from '../../encoding/json-of.ts'
import { compareText } from '../../encoding/text.ts'
import { invariant } from '../../errors.ts'
import { readFundPolicy } from '../../policy/fund-json.ts'
import { type PayoutProof, payoutProofOf, type SettledBatch } from './batch-file.ts'
import { readBatch, showBatch } from './batch-json.ts'
import type { DueLine } from './budget.ts'
import type { EpochClose } from './close-epoch.ts'
import {
  appendClaimLine,
  appendPayoutLine,
  type ClaimLine,
  type PayoutLine,
  readClaimLine,
} from './line.ts'
import { type AppendLine, merkleTree } from './merkle.ts'
import type { ListedBatch } from './verify-batch.ts'

/** A settled epoch as it is stored. It never changes, and it is kept for good. */
export interface SettlementRow {
  readonly epochId: number
  readonly batchId: string
  readonly at: number
  /** The batch, and the settings that it names by their hash, in JSON form. */
  readonly batch: string
  readonly policy: string
  /** The lines that it leaves due; empty for none. Only those of the newest batch are used. */
  readonly due: Uint8Array
  readonly parts: readonly SettlementPart[]
}

/** Some lines of one provider. */
export interface SettlementPart {
  readonly providerId: string
  /** From 0 for each provider. */
  readonly part: number
  readonly body: Uint8Array
}

/** A stored batch without its lines. */
export type SettlementHead = Pick<SettlementRow, 'epochId' | 'batchId' | 'at' | 'batch' | 'policy'>

/** Lines of each kind in one part: an ordinary provider has one. */
const LINES_PER_PART = 1_000

/** The stored form of a close that has a batch. */
export function settlementRow(
  close: EpochClose,
  { policy, nowMs }: { readonly policy: object; readonly nowMs: number },
): SettlementRow {
  const { epochId, batch, batchId } = close
  invariant(batch !== null && batchId !== null, 'an epoch without a batch leaves no row')
  return {
    epochId,
    batchId,
    at: nowMs,
    batch: JSON.stringify(showBatch(batch)),
    policy: JSON.stringify(policy),
    due: encodeDue(close.due),
    parts: partsOf(close),
  }
}

export function encodeDue(lines: readonly DueLine[]): Uint8Array {
  if (lines.length === 0) return new Uint8Array()
  const cells = lines.map(({ line, due, paidBefore }) => [
    bytesOf(line, appendClaimLine),
    due,
    paidBefore,
  ])
  return encodeCbor(cells as CborValue)
}

export function decodeDue(bytes: Uint8Array): DueLine[] {
  if (bytes.length === 0) return []
  return (decodeCbor(bytes) as (readonly [Uint8Array, number, number])[]).map(
    ([line, due, paidBefore]) => ({ line: claimLineIn(line), due, paidBefore }),
  )
}

/** The batch of a stored settlement. */
export function listedBatchOf({ batchId, batch }: SettlementHead): ListedBatch {
  return { batchId, batch: readBatch(JSON.parse(batch)) }
}

/** A whole batch again, from its row and all of its parts. */
export function settledBatchOf(
  head: SettlementHead,
  parts: readonly SettlementPart[],
): SettledBatch {
  const { claims, payouts } = linesIn(parts)
  return {
    ...listedBatchOf(head),
    policy: readFundPolicy(JSON.parse(head.policy)),
    claims,
    payouts,
  }
}

/** The payouts of a provider with their ways to the root. The root covers all lines, so all parts are needed. */
export function storedPayoutProof(
  head: SettlementHead,
  parts: readonly SettlementPart[],
  providerId: string,
): PayoutProof {
  const { payouts } = linesIn(parts)
  return payoutProofOf(
    { ...listedBatchOf(head), payouts },
    providerId,
    merkleTree(payouts, appendPayoutLine),
  )
}

interface Lines {
  readonly claims: readonly ClaimLine[]
  readonly payouts: readonly PayoutLine[]
}

interface Own {
  readonly claims: [n: number, line: ClaimLine][]
  readonly payouts: [n: number, line: PayoutLine][]
}

function partsOf({ claims, payouts }: EpochClose): SettlementPart[] {
  const byProvider = new Map<string, Own>()
  const own = (line: ClaimLine): Own => {
    let lines = byProvider.get(line.providerId)
    if (lines === undefined) {
      lines = { claims: [], payouts: [] }
      byProvider.set(line.providerId, lines)
    }
    return lines
  }
  for (const [n, line] of claims.entries()) own(line).claims.push([n, line])
  for (const [n, line] of payouts.entries()) own(line.claim).payouts.push([n, line])
  return [...byProvider]
    .sort(([a], [b]) => compareText(a, b))
    .flatMap(([providerId, lines]) => {
      const count = Math.ceil(Math.max(lines.claims.length, lines.payouts.length) / LINES_PER_PART)
      const slice = <Line>(list: Line[], part: number): Line[] =>
        list.slice(part * LINES_PER_PART, (part + 1) * LINES_PER_PART)
      return Array.from({ length: count }, (_, part) => ({
        providerId,
        part,
        body: encodePart({
          claims: slice(lines.claims, part),
          payouts: slice(lines.payouts, part),
        }),
      }))
    })
}

/**
 * A payout names its claim by the place among the claims of the part. A claim of an earlier batch, or of another
 * part, stands behind them.
 */
function encodePart({ claims, payouts }: Own): Uint8Array {
  const places = new Map(claims.map(([, line], i) => [line, i]))
  const lines = claims.map(([, line]) => line)
  const rows = payouts.map(([n, payout]) => {
    const { claim, paidBefore, amount, provider, miner, fund, slashed } = payout
    let place = places.get(claim)
    if (place === undefined) {
      place = lines.push(claim) - 1
      places.set(claim, place)
    }
    return [n, place, paidBefore, amount, provider, miner, fund, slashed]
  })
  return encodeCbor([
    claims.map(([n]) => n),
    lines.map((line) => bytesOf(line, appendClaimLine)),
    rows,
  ] as CborValue)
}

function linesIn(parts: readonly SettlementPart[]): Lines {
  const claims: ClaimLine[] = []
  const payouts: PayoutLine[] = []
  for (const { body } of parts) {
    const [numbers, encoded, rows] = decodeCbor(body) as unknown as readonly [
      readonly number[],
      readonly Uint8Array[],
      readonly (readonly number[])[],
    ]
    const lines = encoded.map(claimLineIn)
    numbers.forEach((n, i) => {
      claims[n] = lines[i] as ClaimLine
    })
    for (const row of rows) {
      const [n, place, paidBefore, amount, provider, miner, fund, slashed] = row as [
        number,
        number,
        number,
        number,
        number,
        number,
        number,
        number,
      ]
      const claim = lines[place] as ClaimLine
      payouts[n] = { claim, paidBefore, amount, provider, miner, fund, slashed }
    }
  }
  return { claims, payouts }
}

const scratch = Buffer.alloc(1_024)

function bytesOf(line: ClaimLine, append: AppendLine<ClaimLine>): Uint8Array {
  const { buffer, end } = append(line, scratch, 0)
  return Uint8Array.from(buffer.subarray(0, end))
}

function claimLineIn(bytes: Uint8Array): ClaimLine {
  return readClaimLine(jsonOf(decodeCbor(bytes) as CborMap))
}
