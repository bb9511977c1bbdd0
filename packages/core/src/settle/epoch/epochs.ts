import { epochOf } from '../../admit/quotas.ts'
import { type ExactInt, exactInt, plus } from '../../encoding/exact-int.ts'
import { FairleadError, invalidParams, invariant } from '../../errors.ts'
import { policyHash } from '../../policy/fund-hash.ts'
import type { Policy } from '../../policy/policy.ts'
import type { Claim } from '../chain/claim.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Slash } from '../ledger/stake-change.ts'
import type { DueLine } from './budget.ts'
import type { CloseInput, EpochClose, PreviousBatch } from './close-epoch.ts'
import type { ClaimLine } from './line.ts'
import { type PricedWork, priceClaim } from './price.ts'

/** The earnings that are not settled, as data, in a fixed order (SETTLE-15). */
export interface EpochsState {
  /** Claim lines that no close has taken, in the order in which they became FINAL. */
  readonly lines: readonly ClaimLine[]
  /** The lines that closes left due, by epoch and claim key. */
  readonly due: readonly DueLine[]
  /** The last epoch that was closed; null before the first. */
  readonly lastClosed: number | null
  readonly previous: PreviousBatch | null
}

/** The terms of a close that are not in the books. */
export interface CloseTerms {
  readonly epochId: number
  readonly nowMs: number
  readonly policy: Policy
  /** The judgement of the epoch, at most one slash for each provider (SLA-6). */
  readonly slashes: readonly Slash[]
  /** The last committed audit entry; 0 and 32 zero bytes if there is none. */
  readonly auditSeq: number
  readonly auditHead: string
}

/**
 * The claims that wait for a close. A close has three steps, so that the long one can run in another thread:
 *
 *     const input = epochs.freeze(terms, ledger)   // plain data; null if the epoch was closed before
 *     const close = closeEpoch(input)              // pure
 *     epochs.apply(close, ledger)
 *
 * Between the first and the last step claims may be added and payouts recorded, but no stake may change.
 */
export class Epochs {
  #lines: ClaimLine[]
  #due: readonly DueLine[]
  #lastClosed: number | null
  #previous: PreviousBatch | null
  /** By provider: gross that is not paid yet. */
  readonly #unpaid = new Map<string, ExactInt>()

  constructor(state: EpochsState = { lines: [], due: [], lastClosed: null, previous: null }) {
    this.#lines = [...state.lines]
    this.#due = state.due
    this.#lastClosed = state.lastClosed
    this.#previous = state.previous
    for (const line of this.#lines) this.#owe(line.providerId, line.gross)
    for (const { line, due } of this.#due) this.#owe(line.providerId, due)
  }

  get lastClosed(): number | null {
    return this.#lastClosed
  }

  get previous(): PreviousBatch | null {
    return this.#previous
  }

  /** True if a close left something due. */
  get hasDue(): boolean {
    return this.#due.length > 0
  }

  /** The lines that the close of an epoch takes, and the batch before it. */
  linesFor({
    epochId,
  }: Pick<CloseTerms, 'epochId'>): Pick<CloseInput, 'lines' | 'due' | 'previous'> {
    return {
      lines: this.#lines.filter((line) => line.epochId <= epochId),
      due: this.#due,
      previous: this.#previous,
    }
  }

  /** The gross of a provider that is not paid yet. */
  unpaid(providerId: string): bigint {
    return BigInt(this.#unpaid.get(providerId) ?? 0)
  }

  /** Prices a claim that becomes FINAL at `nowMs` (SETTLE-1, SETTLE-2). */
  add(
    claim: BilledClaim,
    work: Pick<PricedWork, 'band' | 'model' | 'depthHint'>,
    { nowMs, policy }: Pick<CloseTerms, 'nowMs' | 'policy'>,
  ): ClaimLine {
    const { kind, unitsPpm } = claim
    const price = priceClaim({ kind, unitsPpm, ...work }, policy.economics)
    const line: ClaimLine = {
      claimKey: claim.claimKey,
      taskId: claim.taskId,
      kind,
      providerId: claim.providerId,
      minerId: claim.minerId,
      envelopeHash: claim.envelopeHash,
      nullifier: claim.nullifier,
      blockHeight: claim.blockHeight,
      epochId: epochOf(nowMs, policy),
      unitsPpm,
      ...price,
    }
    this.#lines.push(line)
    this.#owe(line.providerId, line.gross)
    return line
  }

  /** The input of a close (SETTLE-4). Null if the epoch was closed before: then its batch, or none, is the answer. */
  freeze(terms: CloseTerms, ledger: Ledger): CloseInput | null {
    const { epochId, nowMs, policy, slashes, auditSeq, auditHead } = terms
    if (!Number.isSafeInteger(epochId) || epochId < 0) {
      throw invalidParams('epoch_id', 'a whole number of at least 0')
    }
    if (epochOf(nowMs, policy) <= epochId) {
      const endsAt = 1_000 * policy.queue.quotas.epochSecs * (epochId + 1)
      throw new FairleadError('InvalidState', `epoch ${epochId} ends at ${endsAt}; close it then`, {
        epochId,
        endsAt,
      })
    }
    if (this.#lastClosed !== null && epochId <= this.#lastClosed) return null
    const slashed = slashes.map(({ providerId }) => providerId)
    if (new Set(slashed).size < slashed.length) {
      throw invalidParams('slashes', 'at most one for each provider')
    }
    const touched = new Set([...slashed, ...ledger.unstakingProviders()])
    return {
      epochId,
      nowMs,
      economics: policy.economics,
      policyHash: policyHash(policy),
      ...this.linesFor(terms),
      slashes,
      stakes: [...touched].map((providerId) => ({ providerId, ...ledger.staked(providerId) })),
      auditSeq,
      auditHead,
    }
  }

  /** Brings a close into these claims and into the books, once. */
  apply(close: CloseEffect, ledger: Ledger): void {
    const { epochId, batchId, batch, claims } = close
    const before = this.#lastClosed
    invariant(before === null || epochId > before, `epoch ${epochId} is closed only once`)
    const left = this.#lines.filter((line) => line.epochId > epochId)
    invariant(
      this.#lines.length - left.length === claims.length,
      `a close takes all claims up to epoch ${epochId}`,
    )
    ledger.apply(close.transfers, close.stakes)
    for (const [providerId, amount] of close.cleared) this.#owe(providerId, exactInt(-amount))
    this.#lines = left
    this.#due = close.due
    this.#lastClosed = epochId
    if (batchId === null || batch === null) return
    this.#previous = { batchId, epochId, carry: batch.totals.carry }
  }

  state(): EpochsState {
    return {
      lines: [...this.#lines],
      due: this.#due,
      lastClosed: this.#lastClosed,
      previous: this.#previous,
    }
  }

  #owe(providerId: string, amount: ExactInt): void {
    const unpaid = plus(this.#unpaid.get(providerId) ?? 0, amount)
    if (unpaid === 0) this.#unpaid.delete(providerId)
    else this.#unpaid.set(providerId, unpaid)
  }
}

/** The part of a close that changes the books. */
export interface CloseEffect
  extends Pick<
    EpochClose,
    'epochId' | 'batchId' | 'batch' | 'due' | 'transfers' | 'stakes' | 'cleared'
  > {
  readonly claims: { readonly length: number }
}

/** The fields of a FINAL claim that its line keeps. */
export type BilledClaim = Pick<
  Claim,
  | 'claimKey'
  | 'taskId'
  | 'kind'
  | 'providerId'
  | 'minerId'
  | 'envelopeHash'
  | 'nullifier'
  | 'blockHeight'
  | 'unitsPpm'
>
