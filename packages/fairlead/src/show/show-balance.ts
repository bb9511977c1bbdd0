import type { ResultOf } from '@fairlead/protocol'
import { factLines } from '../terminal/fact-lines.ts'

/** An account, a line a fact. Only providers have a stake and dues. */
export function balanceText(balance: ResultOf<'aicf.getBalance'>): string[] {
  const { account, available, stake, unstaking, due } = balance
  const facts: [string, string][] = [['available', String(available)]]
  if (account.startsWith('provider:')) {
    facts.push(['due', `${due}, before the split`], ['stake', String(stake)])
  }
  for (const { amount, matures_at } of unstaking) facts.push(unstakingFact(amount, matures_at))
  return [account, ...factLines(facts)]
}

/** Stake on its way out. */
export function unstakingFact(amount: number | string, maturesAt: number): [string, string] {
  return ['unstaking', `${amount}, can be slashed until ${new Date(maturesAt).toISOString()}`]
}
