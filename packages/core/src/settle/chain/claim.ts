import type { JobId, LeaseId } from '../../encoding/ids.ts'
import type { KindName } from '../../enqueue/kinds.ts'
import type { FairleadError } from '../../errors.ts'
import type { AcceptedProof } from '../proof/check-proof.ts'
import type { Traps } from '../proof/proof-body.ts'

/** An accepted proof on its way to be paid (CLAIM-1). */
export interface Claim extends AcceptedProof {
  readonly claimKey: string
  readonly blockHeight: number
  /** Its place among the proofs of its block, from 0. */
  readonly place: number
  readonly txHash: string
  readonly minerId: string
  /** See `Await`. */
  readonly unitMs: number
}

/** A completed lease whose proof is awaited. */
export interface Await {
  readonly taskId: JobId
  readonly leaseId: LeaseId
  readonly kind: KindName
  /** The completion of the lease, or the drop of its claim: from then on the proof timeout runs. */
  readonly since: number
  /** The time that the work took for each estimated unit (SLA-2). */
  readonly unitMs: number
}

/** The settings that claims depend on, as they stand. */
export interface ClaimTerms {
  readonly hasChain: boolean
  /** Blocks after which a claim is FINAL; without a chain it is FINAL at once. */
  readonly finalityK: number
  readonly proofTimeoutMs: number
  /** The miner of a proof without a chain. */
  readonly minerId: string
}

/** A block of a chain, with proofs in whatever form the caller checks them. */
export interface Block<Item> {
  readonly height: number
  readonly timeMs: number
  readonly minerId: string
  readonly proofs: readonly { readonly item: Item; readonly txHash: string }[]
}

/** The changes that a call made, in order. Each names a job whose await or claim is another one now. */
export type ClaimEvent =
  | { readonly type: 'accepted'; readonly taskId: JobId; readonly claim: Claim }
  | {
      readonly type: 'refused'
      readonly taskId: JobId | null
      readonly place: number
      readonly error: FairleadError
    }
  | {
      readonly type: 'proofInvalid'
      readonly taskId: JobId
      readonly leaseId: LeaseId
      readonly reason: 'traps' | 'timeout'
      /** Of the signed proof whose traps failed; null at a timeout. */
      readonly traps: Traps | null
      /** The time at which it takes effect. */
      readonly at: number
    }
  | { readonly type: 'dropped'; readonly taskId: JobId; readonly claim: Claim }
  | {
      readonly type: 'final'
      readonly taskId: JobId
      readonly claim: Claim
      readonly finalizedHeight: number
    }

/** The head of the chain, and the height up to which nothing is undone. Null before the first block. */
export interface ChainHead {
  readonly head: number | null
  readonly finalHeight: number | null
}

/** All of it as data, in a fixed order (CLAIM-7). */
export interface ClaimsState extends ChainHead {
  /** By `since`, then by task id. */
  readonly awaits: readonly Await[]
  /** By block and place. */
  readonly pending: readonly Claim[]
}
