import { isProviderName } from '../../encoding/ids.ts'

/** The two sides of the books that may owe: money that was made, and money outside. */
export const ISSUANCE = 'issuance'
export const EXTERNAL = 'external'
export const FUND = 'fund'

/** Money that goes from one account to another; `amount` is at least 1 (LEDGER-1). */
export interface Transfer {
  readonly from: string
  readonly to: string
  readonly amount: bigint
}

/** Stake that is on its way out, and can be slashed until it is paid (STAKE-2). */
export interface Unstaking {
  readonly amount: bigint
  readonly maturesAt: number
}

/** The stake of a provider. `unstaking` is in the order of the requests, the oldest first. */
export interface Staked {
  readonly stake: bigint
  readonly unstaking: readonly Unstaking[]
}

export function minerAccount(minerId: string): string {
  return `miner:${minerId}`
}

export function stakeAccount(providerId: string): string {
  return `stake:${providerId}`
}

export function unstakingAccount(providerId: string): string {
  return `unstaking:${providerId}`
}

/** The accounts whose money may be paid out: those of providers, miners and the fund (LEDGER-3). */
export function isPayable(account: string): boolean {
  return account === FUND || isProviderName(account) || /^miner:./su.test(account)
}

export function unstakingSum(unstaking: readonly Unstaking[]): bigint {
  return unstaking.reduce((sum, { amount }) => sum + amount, 0n)
}
