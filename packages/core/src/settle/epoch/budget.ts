import { type ExactInt, plus } from '../../encoding/exact-int.ts'
import { BUDGET_MAX, type Economics } from '../../policy/economics-policy.ts'
import type { ClaimLine } from './line.ts'

/** A claim of which something is unpaid. */
export interface DueLine {
  readonly line: ClaimLine
  readonly due: number
  /** Paid by earlier instalments. */
  readonly paidBefore: number
}

/** The payments of an epoch, before they are split. */
export interface Payment {
  readonly line: ClaimLine
  readonly paidBefore: number
  /** At least 1. */
  readonly amount: number
}

export interface Budgeted {
  readonly budget: bigint | null
  readonly payments: readonly Payment[]
  readonly paid: bigint
  /** The lines that stay due, in their order. */
  readonly due: readonly DueLine[]
  readonly carry: bigint
}

type Cap = Pick<Economics, 'gammaFund' | 'cap' | 'carryPpm'>

/** Gives out the budget of an epoch to what is due, in the order given (SETTLE-5 … SETTLE-8). */
export function payDue(due: readonly DueLine[], cap: Cap, carried: bigint): Budgeted {
  const budget = budgetOf(cap, carried)
  const sum = BigInt(due.reduce((total: ExactInt, one) => plus(total, one.due), 0))
  if (budget === null || sum <= budget) return result(due, cap, budget, (one) => one.due)
  if (cap.cap === 'scale') {
    return result(due, cap, budget, (one) => Number((BigInt(one.due) * budget) / sum))
  }
  let left = budget
  const payment = (one: DueLine): number => {
    const amount = BigInt(one.due) < left ? one.due : Number(left)
    left -= BigInt(amount)
    return amount
  }
  return result(due, cap, budget, payment, true)
}

function budgetOf({ gammaFund }: Cap, carried: bigint): bigint | null {
  if (gammaFund === null) return null
  const budget = gammaFund + carried
  return budget < BUDGET_MAX ? budget : BUDGET_MAX
}

function result(
  due: readonly DueLine[],
  { carryPpm }: Cap,
  budget: bigint | null,
  amountOf: (one: DueLine) => number,
  keepsRest = false,
): Budgeted {
  const payments: Payment[] = []
  const rest: DueLine[] = []
  let paid: ExactInt = 0
  for (const one of due) {
    const { line, paidBefore } = one
    const amount = amountOf(one)
    paid = plus(paid, amount)
    if (amount > 0) payments.push({ line, paidBefore, amount })
    if (!keepsRest || amount === one.due) continue
    rest.push({ line, due: one.due - amount, paidBefore: paidBefore + amount })
  }
  const carry = budget === null ? 0n : ((budget - BigInt(paid)) * BigInt(carryPpm)) / 1_000_000n
  return { budget, payments, paid: BigInt(paid), due: rest, carry }
}
