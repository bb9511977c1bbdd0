import { type Staked, type Unstaking, unstakingSum } from './account.ts'

/** A slash as the judgement asks for it (SLA-7). */
export interface Slash {
  readonly providerId: string
  readonly amount: bigint
}

/** The effect of a slash and of time on the stake of one provider (SETTLE-9, SETTLE-10). */
export interface StakeChange {
  readonly providerId: string
  readonly debits: { readonly stake: bigint; readonly unstaking: bigint }
  readonly matured: bigint
  /** The requests that are left. */
  readonly unstaking: readonly Unstaking[]
}

/** A slash takes at most everything that is at stake. */
export function slashable(amount: bigint, { stake, unstaking }: Staked): bigint {
  const most = stake + unstakingSum(unstaking)
  return amount < most ? amount : most
}

/** Takes a debit from the stake, then from the oldest requests; then pays what has matured. */
export function changeStake(
  providerId: string,
  { stake, unstaking }: Staked,
  { debit, nowMs }: { readonly debit: bigint; readonly nowMs: number },
): StakeChange {
  const fromStake = debit < stake ? debit : stake
  const fromUnstaking = debit - fromStake
  let owed = fromUnstaking
  let matured = 0n
  const left: Unstaking[] = []
  for (const { amount, maturesAt } of unstaking) {
    const taken = owed < amount ? owed : amount
    owed -= taken
    const rest = amount - taken
    if (maturesAt <= nowMs) matured += rest
    else if (rest > 0n) left.push({ amount: rest, maturesAt })
  }
  const debits = { stake: fromStake, unstaking: fromUnstaking }
  return { providerId, debits, matured, unstaking: left }
}
