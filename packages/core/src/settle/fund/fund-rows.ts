import type { Challenge } from '../../registry/attestation/check-attestation.ts'
import type { Outcome } from '../../registry/sla/outcome.ts'
import type { Await, ChainHead, Claim } from '../chain/claim.ts'
import type { CloseInput, PreviousBatch } from '../epoch/close-epoch.ts'
import type { ClaimLine } from '../epoch/line.ts'
import type { Unstaking } from '../ledger/account.ts'
import type { PayoutRecord } from '../ledger/ledger.ts'

/** A close that was begun and not finished: all of its input that is not in the books (SETTLE-15). */
export interface Closing extends Omit<CloseInput, 'lines' | 'due' | 'previous'> {
  /** The settings in force, in written form. */
  readonly policy: Readonly<Record<string, unknown>>
}

/** The epochs that were closed, and those in which something happened since. */
export interface EpochsDone {
  readonly lastClosed: number | null
  readonly previous: PreviousBatch | null
  /** The epochs in which something happened that no close has looked at yet, oldest first. */
  readonly active: readonly number[]
  /** True from the first FINAL claim on. The length of an epoch is fixed then (SETTLE-21). */
  readonly hasClaims: boolean
}

/** The kinds of pieces that the state of a fund has, each under a key (FUND-1). */
export interface FundParts {
  /** By job. */
  readonly await: Await
  readonly claim: Claim
  /** One, under the empty key. */
  readonly chain: ChainHead
  /** By account. */
  readonly balance: bigint
  /** By provider. */
  readonly unstaking: readonly Unstaking[]
  /** By claim key. A close takes all lines of an epoch together. */
  readonly line: ClaimLine
  /** One each, under the empty key. */
  readonly epochs: EpochsDone
  readonly closing: Closing
  /** By provider, kind and number, with a space between. */
  readonly outcome: Outcome
  /** By provider: the epochs in which it was slashed. */
  readonly offences: readonly number[]
  readonly challenge: Challenge
  /** By reference. */
  readonly payout: PayoutRecord
}

export type FundPart = keyof FundParts

/** The pieces that changed, and the epochs whose lines are gone as a whole. */
export interface FundChanges {
  readonly rows: readonly FundRow[]
  readonly settledEpochs: readonly number[]
}

/** One piece of the state; null if it is gone. */
export type FundRow = {
  readonly [Part in FundPart]: {
    readonly part: Part
    readonly key: string
    readonly value: FundParts[Part] | null
  }
}[FundPart]
