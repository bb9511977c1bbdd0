import { type ExactInt, plus } from '../encoding/exact-int.ts'

/** What live leases hold of one limit. */
export interface Reserved {
  readonly amount: ExactInt
  readonly leases: number
  /** Those that hold the most, at most `HOLDERS_MAX`; of equal ones the oldest first. */
  readonly holders: readonly LimitHolder[]
}

export interface LimitHolder {
  readonly leaseId: string
  readonly amount: number
  readonly reservedAt: number
  readonly endsAt: number
}

export const HOLDERS_MAX = 10

interface Sum {
  amount: ExactInt
  leases: number
  holders: LimitHolder[]
}

/** Adds up what leases hold, one hold at a time. */
export class ReservedSums {
  readonly all = new Map<string, Sum>()

  add(
    { key, amount, end }: { readonly key: string; readonly amount: number; readonly end: number },
    reservedAt: number,
    id: () => string,
  ): void {
    let sum = this.all.get(key)
    if (sum === undefined) {
      sum = { amount: 0, leases: 0, holders: [] }
      this.all.set(key, sum)
    }
    sum.amount = plus(sum.amount, amount)
    sum.leases++
    const { holders } = sum
    const least = holders[holders.length - 1]
    const isFull = holders.length === HOLDERS_MAX
    // Most leases hold less than those that are shown. Then their ids are not read.
    if (isFull && least !== undefined && amount < least.amount) return
    const holder = { leaseId: id(), amount, reservedAt, endsAt: end }
    if (isFull && least !== undefined && !comesBefore(holder, least)) return
    const at = holders.findIndex((other) => comesBefore(holder, other))
    holders.splice(at < 0 ? holders.length : at, 0, holder)
    if (holders.length > HOLDERS_MAX) holders.pop()
  }
}

function comesBefore(a: LimitHolder, b: LimitHolder): boolean {
  if (a.amount !== b.amount) return a.amount > b.amount
  if (a.reservedAt !== b.reservedAt) return a.reservedAt < b.reservedAt
  return a.leaseId < b.leaseId
}
