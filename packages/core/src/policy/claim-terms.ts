import type { ClaimTerms } from '../settle/chain/claim.ts'
import type { Policy } from './policy.ts'

/** The settings that claims depend on, as they stand. */
export function claimTerms({ chain, queue }: Policy): ClaimTerms {
  return {
    hasChain: chain.source === 'blocks',
    finalityK: chain.finalityK,
    proofTimeoutMs: 1_000 * queue.completion.proofTimeoutSecs,
    minerId: chain.minerId,
  }
}
