import { invariant } from '../../errors.ts'
import type { DueLine } from './budget.ts'
import type { CloseInput, EpochClose } from './close-epoch.ts'
import type { CloseEffect } from './epochs.ts'
import type { ClaimLine, PayoutLine } from './line.ts'

/**
 * A close on its way back from another thread (SETTLE-15). The caller has the claim lines already, so the lines here are
 * numbers: a place in the input's `lines`, and behind these in its `due`. All of it lies in a few buffers that change
 * hands without a copy. A clone of 100,000 lines with their payouts would hold the caller's loop for half a second.
 */
export interface PackedClose
  extends Pick<
    EpochClose,
    'epochId' | 'batch' | 'batchId' | 'payoutTree' | 'transfers' | 'stakes' | 'cleared'
  > {
  /** The claim lines by claim key. */
  readonly claims: Uint32Array<ArrayBuffer>
  readonly payouts: Columns<Exclude<keyof PayoutLine, 'claim'>>
  readonly due: Columns<Exclude<keyof DueLine, 'line'>>
}

/** A row for each place in the input; amounts are below 2^53, so a double holds them. */
type Columns<Name extends string> = { readonly line: Uint32Array<ArrayBuffer> } & {
  readonly [Each in Name]: Float64Array<ArrayBuffer>
}

/** The caller keeps the input of `closeEpoch`; the thread that computed the close sends this. */
export function packClose(input: CloseInput, close: EpochClose): PackedClose {
  const places = new Map<ClaimLine, number>()
  for (const line of linesOf(input)) places.set(line, places.size)
  const placesOf = <Row>(rows: readonly Row[], lineOf: (row: Row) => ClaimLine) =>
    Uint32Array.from(rows, (row) => {
      const place = places.get(lineOf(row))
      invariant(place !== undefined, 'a close has no other lines than its input')
      return place
    })
  const { epochId, batch, batchId, payoutTree, transfers, stakes, cleared, payouts, due } = close
  const paid = (name: Exclude<keyof PayoutLine, 'claim'>) =>
    Float64Array.from(payouts, (line) => line[name])
  return {
    ...{ epochId, batch, batchId, payoutTree, transfers, stakes, cleared },
    claims: placesOf(close.claims, (line) => line),
    payouts: {
      line: placesOf(payouts, ({ claim }) => claim),
      paidBefore: paid('paidBefore'),
      amount: paid('amount'),
      provider: paid('provider'),
      miner: paid('miner'),
      fund: paid('fund'),
      slashed: paid('slashed'),
    },
    due: {
      line: placesOf(due, ({ line }) => line),
      due: Float64Array.from(due, (one) => one.due),
      paidBefore: Float64Array.from(due, ({ paidBefore }) => paidBefore),
    },
  }
}

/** The buffers that go along instead of being copied: the transfer list of `postMessage`. */
export function buffersOf({ claims, payouts, due, payoutTree }: PackedClose): ArrayBuffer[] {
  const columns = [claims, ...Object.values(payouts), ...Object.values(due)]
  return [...columns, ...payoutTree.levels].map(({ buffer }) => buffer as ArrayBuffer)
}

/** The part of a close that changes the books, without its lists of claims and payouts, which take time to make. */
export function unpackEffect(input: CloseInput, packed: PackedClose): CloseEffect {
  const { epochId, batch, batchId, transfers, stakes, cleared, claims, due } = packed
  const lines = due.line.length === 0 ? [] : linesOf(input)
  return {
    ...{ epochId, batch, batchId, transfers, stakes, cleared, claims },
    due: listOf(due.due.length, (i) => ({
      line: lines[due.line[i] as number] as ClaimLine,
      due: due.due[i] as number,
      paidBefore: due.paidBefore[i] as number,
    })),
  }
}

/** The close with the caller's own lines in it; the same that `closeEpoch` gives for this input. */
export function unpackClose(input: CloseInput, packed: PackedClose): EpochClose {
  const { epochId, batch, batchId, payoutTree, transfers, stakes, cleared, payouts, due } = packed
  const lines = linesOf(input)
  const lineAt = (place: number | undefined): ClaimLine => {
    const line = lines[place as number]
    invariant(line !== undefined, 'a packed close belongs to its input')
    return line
  }
  const { paidBefore, amount, provider, miner, fund, slashed } = payouts
  return {
    ...{ epochId, batch, batchId, payoutTree, transfers, stakes, cleared },
    claims: listOf(packed.claims.length, (i) => lineAt(packed.claims[i])),
    payouts: listOf(amount.length, (i) => ({
      claim: lineAt(payouts.line[i]),
      paidBefore: paidBefore[i] as number,
      amount: amount[i] as number,
      provider: provider[i] as number,
      miner: miner[i] as number,
      fund: fund[i] as number,
      slashed: slashed[i] as number,
    })),
    due: listOf(due.due.length, (i) => ({
      line: lineAt(due.line[i]),
      due: due.due[i] as number,
      paidBefore: due.paidBefore[i] as number,
    })),
  }
}

/** `Array.from` goes through an iterator, which takes three times as long. */
function listOf<Item>(length: number, itemAt: (i: number) => Item): Item[] {
  const items: Item[] = []
  for (let i = 0; i < length; i++) items.push(itemAt(i))
  return items
}

function linesOf({ lines, due }: CloseInput): readonly ClaimLine[] {
  return [...lines, ...due.map(({ line }) => line)]
}
