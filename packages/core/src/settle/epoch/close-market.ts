import { epochOf } from '../../admit/quotas.ts'
import { showU64 } from '../../encoding/u64.ts'
import { FairleadError, invariant } from '../../errors.ts'
import type { Market } from '../../market/market.ts'
import type { Provider } from '../../registry/provider.ts'
import { changeStanding } from '../../registry/provider-status.ts'
import { conductIn, type Judgement, judge } from '../../registry/sla/judge.ts'
import { mirrorStake } from '../../registry/stake-provider.ts'
import { jailed, penaltyEnd } from '../../registry/standing/standing.ts'
import { unstakingSum } from '../ledger/account.ts'
import type { Slash } from '../ledger/stake-change.ts'
import { showTotals } from './batch-json.ts'
import type { CloseEffect, CloseTerms } from './epochs.ts'

/** The anchor of a close in the audit log, which the command carries (SETTLE-12). */
export type CloseRequest = Pick<CloseTerms, 'epochId' | 'auditSeq' | 'auditHead'>

/**
 * Begins the close of an epoch: judges every provider and freezes the input (SETTLE-4). `settleEpoch` ends it. Between
 * the two, claims may be added and payouts recorded. False if the epoch was closed before.
 */
export function beginClose(market: Market, request: CloseRequest): boolean {
  const { fund, nowMs, policy } = market
  const { epochId } = request
  if (fund.closing !== null) {
    throw new FairleadError('InvalidState', `epoch ${fund.closing.epochId} is being closed`, {
      epochId: fund.closing.epochId,
    })
  }
  const { lastClosed } = fund.epochs
  const isOver = epochOf(nowMs, policy) > epochId
  const isClosed = lastClosed !== null && epochId <= lastClosed
  const judged = isOver && !isClosed ? judgeAll(market, epochId) : []
  const slashes = judged.flatMap(({ provider, judgement }): Slash[] =>
    judgement.decision === 'SLASH' ? [{ providerId: provider.id, amount: judgement.slash }] : [],
  )
  if (!fund.freeze({ ...request, nowMs, policy, slashes })) return false
  for (const { provider, judgement } of judged) punish(market, provider, judgement, epochId)
  return true
}

/** Ends the close that was begun: money moves (SETTLE-15). */
export function settleEpoch(market: Market, close: CloseEffect): void {
  const { fund, nowMs, pool } = market
  fund.settle(close)
  for (const { providerId } of close.stakes) {
    const provider = pool.get(providerId as Provider['id'])
    if (provider !== undefined) mirrorStake(market, provider)
  }
  const { epochId, batchId, batch } = close
  if (batchId === null || batch === null) return
  market.emit({
    type: 'epochSettled',
    at: nowMs,
    epochId,
    batchId,
    totals: showTotals(batch.totals),
  })
}

interface Judged {
  readonly provider: Provider
  readonly judgement: Judgement
}

/** In order of id. Providers without an outcome in the epoch are not judged (SLA-6). */
function judgeAll({ fund, pool, policy }: Market, epoch: number): Judged[] {
  return fund.service.providers().flatMap((id): Judged[] => {
    const provider = pool.get(id as Provider['id'])
    invariant(provider !== undefined, 'outcomes are of providers that exist')
    const kinds = conductIn(epoch, fund.service.windows(id), policy.sla)
    if (kinds.length === 0) return []
    const { stake, unstaking } = fund.ledger.staked(id)
    const atStake = stake + unstakingSum(unstaking)
    const offenceEpochs = fund.service.offences(id)
    return [{ provider, judgement: judge({ epoch, atStake, offenceEpochs, kinds }, policy.sla) }]
  })
}

/** Cooldown and jail count from the close; the money moves when the epoch is settled (SLA-8). */
function punish(market: Market, provider: Provider, judgement: Judgement, epoch: number): void {
  const { fund, nowMs, policy, pool, touch } = market
  const { id: providerId } = provider
  if (judgement.decision !== 'SLASH') {
    if (judgement.decision === 'NONE') return
    const violations = judgement.violations.map(
      ({ kind, dimension, severity }) => `${kind} ${dimension} ${severity}`,
    )
    market.emit({ type: 'slashWarning', at: nowMs, providerId, violations })
    return
  }
  const { reason, slash, cooldownEpochs, jailEpochs } = judgement
  const span = { nowMs, epochSecs: policy.queue.quotas.epochSecs }
  fund.addOffence(providerId, epoch)
  market.emit({ type: 'providerSlashed', at: nowMs, providerId, reason, penalty: showU64(slash) })
  provider.cooldownUntil = penaltyEnd(provider.cooldownUntil, { ...span, epochs: cooldownEpochs })
  pool.touch(provider, nowMs)
  touch.provider(provider)
  changeStanding(market, provider, jailed(provider.standing, { ...span, epochs: jailEpochs }))
}
