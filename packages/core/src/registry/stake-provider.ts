import type { Market } from '../market/market.ts'
import type { Provider } from './provider.ts'
import { admitProvider } from './provider-status.ts'

/** Adds to the stake of a provider (STAKE-1). */
export function stakeProvider(market: Market, provider: Provider, amount: bigint): void {
  market.fund.stake(provider.id, amount)
  mirrorStake(market, provider)
}

/** Takes out stake: it does not count from now on, and a close pays it later. Answers when (STAKE-2). */
export function unstakeProvider(market: Market, provider: Provider, amount: bigint): number {
  const { fund, nowMs, policy } = market
  const maturesAt = nowMs + 1_000 * policy.registry.unstakeDelaySecs
  fund.unstake(provider.id, amount, maturesAt)
  mirrorStake(market, provider)
  return maturesAt
}

/** The provider's stake follows the books. */
export function mirrorStake(market: Market, provider: Provider): void {
  const { stake } = market.fund.ledger.staked(provider.id)
  if (provider.stake === stake) return
  provider.stake = stake
  market.pool.touch(provider, market.nowMs)
  market.touch.provider(provider)
  admitProvider(market, provider)
}
