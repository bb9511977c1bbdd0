import { utf8Length } from '../../encoding/bytes.ts'
import { compareText } from '../../encoding/text.ts'
import { U64_MAX } from '../../encoding/u64.ts'
import { FairleadError, invalidParams, invariant } from '../../errors.ts'
import {
  EXTERNAL,
  ISSUANCE,
  isPayable,
  type Staked,
  stakeAccount,
  type Transfer,
  type Unstaking,
  unstakingAccount,
} from './account.ts'
import type { StakeChange } from './stake-change.ts'

/** The books as data, in byte order of the names. Accounts at 0 are left out. */
export interface LedgerState {
  readonly balances: readonly (readonly [account: string, balance: bigint])[]
  readonly unstaking: readonly (readonly [providerId: string, requests: readonly Unstaking[]])[]
}

/** Money that was really paid out (LEDGER-3). */
export interface PayoutRecord {
  readonly account: string
  readonly amount: bigint
}

/**
 * The books of the fund. Money moves by transfers and in no other way, so that all balances always add up to 0
 * (LEDGER-1). Calls that are refused throw and change nothing; the others answer with the transfers that they made.
 */
export class Ledger {
  readonly #balances = new Map<string, bigint>()
  readonly #unstaking = new Map<string, readonly Unstaking[]>()

  constructor(state: LedgerState = { balances: [], unstaking: [] }) {
    for (const [account, balance] of state.balances) this.#balances.set(account, balance)
    for (const [providerId, requests] of state.unstaking) this.#unstaking.set(providerId, requests)
  }

  balance(account: string): bigint {
    return this.#balances.get(account) ?? 0n
  }

  staked(providerId: string): Staked {
    const stake = this.balance(stakeAccount(providerId))
    return { stake, unstaking: this.#unstaking.get(providerId) ?? [] }
  }

  get hasUnstaking(): boolean {
    return this.#unstaking.size > 0
  }

  /** The providers with stake on its way out, in byte order. */
  unstakingProviders(): string[] {
    return [...this.#unstaking.keys()].sort(compareText)
  }

  /** Stake that came in from outside (STAKE-1). */
  stake(providerId: string, amount: bigint): Transfer {
    refuseAmount(amount)
    const observed = this.balance(stakeAccount(providerId)) + amount
    if (observed > U64_MAX) {
      throw new FairleadError('LimitExceeded', 'amount_u64: the stake would be over 2^64 − 1', {
        limit: 'amount_u64',
        max: (U64_MAX - observed + amount).toString(),
        observed: amount.toString(),
      })
    }
    return this.#move({ from: EXTERNAL, to: stakeAccount(providerId), amount })
  }

  /** Stake that is to be paid back by the first close from `maturesAt` on (STAKE-2). */
  unstake(providerId: string, amount: bigint, maturesAt: number): Transfer {
    refuseAmount(amount)
    const { stake, unstaking } = this.staked(providerId)
    if (amount > stake) {
      throw new FairleadError(
        'InsufficientStake',
        `${providerId} has a stake of ${stake}, so it cannot take out ${amount}`,
        { required: amount, actual: stake },
      )
    }
    this.#unstaking.set(providerId, [...unstaking, { amount, maturesAt }])
    return this.#move({ from: stakeAccount(providerId), to: unstakingAccount(providerId), amount })
  }

  /**
   * `aicf.recordPayout` (LEDGER-3). `earlier` is what was recorded before under this reference, null if nothing was;
   * the caller keeps the references. The answer is null if it was recorded before.
   */
  recordPayout(
    payout: PayoutRecord & { readonly reference: string },
    earlier: PayoutRecord | null,
  ): Transfer | null {
    const { account, amount, reference } = payout
    if (typeof account !== 'string' || !isPayable(account)) {
      throw invalidParams('account', 'the account of a provider, a miner or the fund')
    }
    refuseAmount(amount)
    refuseReference(reference)
    if (earlier !== null) {
      if (earlier.account === account && earlier.amount === amount) return null
      throw new FairleadError(
        'IdempotencyConflict',
        `reference ${reference} was used for another payout; take a new one`,
        { field: 'reference' },
      )
    }
    const balance = this.balance(account)
    if (amount > balance) {
      throw new FairleadError(
        'InvalidState',
        `${account} has ${balance}, so ${amount} cannot have been paid out of it`,
        { account, balance },
      )
    }
    return this.#move({ from: account, to: EXTERNAL, amount })
  }

  /** Brings the transfers of a close into the books, in their order, and the requests that it changed. */
  apply(transfers: readonly Transfer[], stakes: readonly StakeChange[]): void {
    for (const transfer of transfers) this.#move(transfer)
    for (const { providerId, unstaking } of stakes) {
      if (unstaking.length === 0) this.#unstaking.delete(providerId)
      else this.#unstaking.set(providerId, unstaking)
    }
  }

  state(): LedgerState {
    const byName = (a: readonly [string, unknown], b: readonly [string, unknown]): number =>
      compareText(a[0], b[0])
    return {
      balances: [...this.#balances].sort(byName),
      unstaking: [...this.#unstaking].sort(byName),
    }
  }

  #move(transfer: Transfer): Transfer {
    const { from, to, amount } = transfer
    invariant(amount >= 1n && from !== to, 'a transfer moves at least 1 to another account')
    this.#set(from, this.balance(from) - amount)
    this.#set(to, this.balance(to) + amount)
    return transfer
  }

  #set(account: string, balance: bigint): void {
    const mayOwe = account === ISSUANCE || account === EXTERNAL
    invariant(balance >= 0n || mayOwe, `${account} would be below 0`)
    if (balance === 0n) this.#balances.delete(account)
    else this.#balances.set(account, balance)
  }
}

const REFERENCE_BYTES_MAX = 128

function refuseReference(reference: unknown): void {
  if (typeof reference === 'string' && reference !== '' && reference.isWellFormed()) {
    if (utf8Length(reference) <= REFERENCE_BYTES_MAX) return
  }
  throw invalidParams('reference', `text of 1 to ${REFERENCE_BYTES_MAX} bytes`)
}

function refuseAmount(amount: unknown): void {
  if (typeof amount === 'bigint' && amount >= 1n && amount <= U64_MAX) return
  throw invalidParams('amount', 'a whole number from 1 to 2^64 − 1')
}
