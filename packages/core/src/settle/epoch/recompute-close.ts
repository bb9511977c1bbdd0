import { type FundPolicy, policyHash } from '../../policy/fund-hash.ts'
import type { Totals } from './batch.ts'
import type { SettledBatch } from './batch-file.ts'
import type { DueLine } from './budget.ts'
import { type BatchFault, fault } from './check-batch.ts'
import { type CloseInput, closeEpoch, type EpochClose, type PreviousBatch } from './close-epoch.ts'
import { showPayoutLine } from './line.ts'

/** The state that a close began with, beside its claims. */
export interface CloseStart {
  readonly previous: PreviousBatch | null
  readonly due: readonly DueLine[]
}

/**
 * Closes an epoch again from its batch (SETTLE-20). Slashes and matured stake are decisions from outside, so they are
 * taken from the batch, which says how much they were. The budget and every payment have to follow from the rest.
 */
export function recomputeClose(
  settled: SettledBatch,
  policy: FundPolicy,
  { previous, due }: CloseStart,
): EpochClose {
  const { batch, claims } = settled
  const { epochId, auditSeq, auditHead } = batch
  return closeEpoch({
    epochId,
    nowMs: 0,
    economics: policy.economics,
    policyHash: policyHash(policy),
    lines: claims,
    due,
    ...stakesOf(settled),
    previous,
    auditSeq,
    auditHead,
  })
}

/**
 * The start that a batch implies, if nothing is known of the one before: its payouts for older claims pay all that was
 * due for these. A batch may well follow from another start.
 */
export function impliedStart(
  { batch, claims, payouts }: SettledBatch,
  policy: FundPolicy,
): CloseStart {
  const { epochId, prevBatchId, totals } = batch
  const { gammaFund } = policy.economics
  const extra = totals.budget === null || gammaFund === null ? 0n : totals.budget - gammaFund
  const own = new Set(claims.map(({ claimKey }) => claimKey))
  return {
    previous: { batchId: prevBatchId, epochId: epochId - 1, carry: extra > 0n ? extra : 0n },
    due: payouts
      .filter(({ claim }) => !own.has(claim.claimKey))
      .map(({ claim, amount, paidBefore }) => ({ line: claim, due: amount, paidBefore })),
  }
}

/** The first difference between a batch and the same close computed again; null if they are one. */
export function recomputeFault(settled: SettledBatch, close: EpochClose): BatchFault | null {
  if (close.batchId === settled.batchId) return null
  const { totals } = settled.batch
  for (const [name, expected] of Object.entries(close.batch?.totals ?? {})) {
    const [due, found] = [expected, totals[name as keyof Totals]].map(amountText)
    if (due !== found) return fault(`batch.totals.${name}`, due, found)
  }
  const [due, found] = [close.payouts, settled.payouts].map((lines) => lines.map(showPayoutLine))
  for (const [i, line] of (due ?? []).entries()) {
    for (const [name, expected] of Object.entries(line)) {
      const value = found?.[i]?.[name]
      if (JSON.stringify(expected) === JSON.stringify(value)) continue
      return fault(`payouts[${i}].${name}`, JSON.stringify(expected), JSON.stringify(value))
    }
  }
  return fault('batch_id', close.batchId, settled.batchId)
}

/** The slashes, and stakes from which closing makes the debits and the matured stake of the batch. */
function stakesOf({ batch, payouts }: SettledBatch): Pick<CloseInput, 'slashes' | 'stakes'> {
  const { debits, unstaked } = batch.totals
  const slashed = new Map(Object.entries(debits))
  for (const { claim, slashed: taken } of payouts) {
    if (taken === 0) continue
    slashed.set(claim.providerId, (slashed.get(claim.providerId) ?? 0n) + BigInt(taken))
  }
  const matured = new Map(Object.entries(unstaked))
  const touched = [...new Set([...slashed.keys(), ...matured.keys()])]
  return {
    slashes: [...slashed].map(([providerId, amount]) => ({ providerId, amount })),
    stakes: touched.map((providerId) => ({
      providerId,
      stake: slashed.get(providerId) ?? 0n,
      unstaking: [{ amount: matured.get(providerId) ?? 0n, maturesAt: 0 }],
    })),
  }
}

function amountText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const entries = Object.entries(value as Totals['debits']).map(
    ([name, amount]) => `${name}: ${amount}`,
  )
  return `{${entries.sort().join(', ')}}`
}
