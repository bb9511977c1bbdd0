import { broken } from '../../violation.ts'

export interface Request {
  readonly amount: bigint
  readonly maturesAt: number
}

/** The books once more (LEDGER-1 to LEDGER-3, STAKE-1, STAKE-2). */
export class Money {
  readonly balances = new Map<string, bigint>()
  /** The oldest request first. */
  readonly unstaking = new Map<string, Request[]>()
  readonly payouts = new Map<string, { readonly account: string; readonly amount: bigint }>()

  balance(account: string): bigint {
    return this.balances.get(account) ?? 0n
  }

  /** Stake, and what is on its way out. */
  atStake(providerId: string): bigint {
    return this.balance(`stake:${providerId}`) + this.balance(`unstaking:${providerId}`)
  }

  move(from: string, to: string, amount: bigint): void {
    if (amount === 0n) return
    if (amount < 0n) broken('books', `${amount} goes from ${from} to ${to}`)
    this.#add(from, -amount)
    this.#add(to, amount)
  }

  stake(providerId: string, amount: bigint): void {
    this.move('external', `stake:${providerId}`, amount)
  }

  unstake(providerId: string, amount: bigint, maturesAt: number): void {
    this.move(`stake:${providerId}`, `unstaking:${providerId}`, amount)
    const list = this.unstaking.get(providerId) ?? []
    this.unstaking.set(providerId, [...list, { amount, maturesAt }])
  }

  recordPayout(account: string, amount: bigint, reference: string): void {
    if (this.payouts.has(reference)) broken('books', `payout ${reference} was recorded twice`)
    this.payouts.set(reference, { account, amount })
    this.move(account, 'external', amount)
  }

  /** A debit of a slash: from the stake, then from the oldest requests. */
  debit(providerId: string, amount: bigint, stake: bigint): void {
    const own = amount < stake ? amount : stake
    this.move(`stake:${providerId}`, 'fund', own)
    let left = amount - own
    this.move(`unstaking:${providerId}`, 'fund', left)
    const rest = (this.unstaking.get(providerId) ?? []).map((request) => {
      const taken = left < request.amount ? left : request.amount
      left -= taken
      return { ...request, amount: request.amount - taken }
    })
    if (left > 0n) broken('books', `${providerId} is slashed by more than it has at stake`)
    this.#keep(providerId, rest)
  }

  /** Pays the requests that are over by then. */
  mature(nowMs: number): Map<string, bigint> {
    const paid = new Map<string, bigint>()
    for (const [providerId, list] of [...this.unstaking]) {
      const due = list.filter(({ maturesAt }) => maturesAt <= nowMs)
      const sum = due.reduce((total, { amount }) => total + amount, 0n)
      this.#keep(
        providerId,
        list.filter((one) => !due.includes(one)),
      )
      this.move(`unstaking:${providerId}`, providerId, sum)
      if (sum > 0n) paid.set(providerId, sum)
    }
    return paid
  }

  check(): void {
    let sum = 0n
    for (const [account, balance] of this.balances) {
      sum += balance
      if (balance >= 0n || account === 'issuance' || account === 'external') continue
      broken('books', `${account} is at ${balance}`)
    }
    if (sum !== 0n) broken('books', `all balances add up to ${sum}`)
  }

  #keep(providerId: string, list: readonly Request[]): void {
    const rest = list.filter(({ amount }) => amount > 0n)
    if (rest.length === 0) this.unstaking.delete(providerId)
    else this.unstaking.set(providerId, rest)
  }

  #add(account: string, amount: bigint): void {
    const balance = this.balance(account) + amount
    if (balance === 0n) this.balances.delete(account)
    else this.balances.set(account, balance)
  }
}
