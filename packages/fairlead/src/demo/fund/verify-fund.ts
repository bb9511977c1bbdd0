import {
  type AuditEntry,
  BatchChain,
  brokenSeq,
  payoutProofOf,
  readSettlement,
  type SettledBatch,
  showPayoutProof,
  showSettledBatch,
  unanchoredBatch,
} from '@fairlead/core'
import { amountText } from './amount-text.ts'
import type { FundFigures } from './fund-figures.ts'

/** Verifies settled epochs as anybody can who has nothing but their files and the audit log (SETTLE-19). */
export function verifyFund(
  batches: readonly SettledBatch[],
  audit: readonly AuditEntry[],
): string[] {
  const chain = new BatchChain()
  const wrong = batches.flatMap((settled) => {
    const { batch } = settled
    const file = readSettlement(JSON.parse(JSON.stringify(showSettledBatch(settled))))
    if (file.format !== 'fairlead-batch-1') return [`epoch ${batch.epochId} has no batch file`]
    const { fault, isRecomputed } = chain.checkBatch(file)
    if (fault !== null) {
      const { field, expected, found } = fault
      return [`epoch ${batch.epochId}: ${field}: expected ${expected}, found ${found}`]
    }
    return isRecomputed ? [] : [`the close of epoch ${batch.epochId} was not computed again`]
  })
  const broken = brokenSeq(audit)
  if (broken !== null)
    wrong.push(`entry ${broken} of the audit log does not follow from the one before`)
  const unanchored = unanchoredBatch(audit, batches)
  if (unanchored !== null) wrong.push(`the audit log does not bear out batch ${unanchored}`)
  return wrong
}

/** The newest payouts of a provider, verified from their file alone; a text if they do not hold. */
export function verifyPayouts(
  batches: readonly SettledBatch[],
  providerId: string,
): FundFigures['payout_proof'] | string {
  const settled = batches.findLast(({ payouts }) =>
    payouts.some(({ claim }) => claim.providerId === providerId),
  )
  if (settled === undefined) return `${providerId} was paid nothing`
  const shown = showPayoutProof(payoutProofOf(settled, providerId))
  return checkedPayouts(JSON.parse(JSON.stringify(shown)))
}

/** A file of payouts, verified; a text if they do not hold. */
export function checkedPayouts(json: unknown): NonNullable<FundFigures['payout_proof']> | string {
  const file = readSettlement(json)
  if (file.format !== 'fairlead-payouts-1') return 'expected a file of payouts'
  const { providerId, batch, payouts } = file
  const fault = new BatchChain().checkPayouts(file)
  if (fault !== null) {
    return `payouts of ${providerId}: ${fault.field}: expected ${fault.expected}, found ${fault.found}`
  }
  return {
    provider_id: providerId,
    epoch_id: batch.epochId,
    payouts: payouts.length,
    share: amountText(payouts.reduce((sum, { line }) => sum + BigInt(line.provider), 0n)),
  }
}
