import type { Caller, JobId, LeaseId, LimitView, Market } from '@fairlead/core'
import type { ExactInt, LimitHolder, Reserved } from '@fairlead/core/internal'

/** A limit of the engine in the figures that enforce it. */
export interface BudgetFigures {
  readonly view: LimitView
  /** Held by live leases. */
  readonly reserved: ExactInt
  readonly leases: number
  readonly holders: readonly Holding[]
  /** When some of it comes back next, and when all of it is back, if nothing more is taken; null if no time does. */
  readonly resetsAt: number | null
  readonly wholeAt: number | null
}

/** A lease that holds some of a limit. */
export interface Holding extends LimitHolder {
  /** Null: it was reserved from outside the queue. */
  readonly jobId: JobId | null
  readonly caller: Caller | null
}

const MICRO = 1_000_000

/** Gives the figures of one limit after another. What leases hold is added up once, for all of them. */
export function budgetFigures(market: Market): (view: LimitView) => BudgetFigures {
  const { limits, leases, nowMs } = market
  const reserved = limits.reserved(nowMs)
  return (view) => {
    const { key } = view.limit
    const { amount, leases: count, holders }: Reserved = reserved.get(key) ?? NOTHING
    return {
      view,
      reserved: amount,
      leases: count,
      holders: holders.map((holder) => {
        const lease = leases.get(holder.leaseId as LeaseId)
        return { ...holder, jobId: lease?.job.id ?? null, caller: lease?.job.caller ?? null }
      }),
      ...timesOf(market, view),
    }
  }
}

const NOTHING: Reserved = { amount: 0, leases: 0, holders: [] }

type Times = Pick<BudgetFigures, 'resetsAt' | 'wholeAt'>
const NO_TIME: Times = { resetsAt: null, wholeAt: null }

function timesOf({ limits, nowMs }: Market, { limit, levelMicro }: LimitView): Times {
  if (limit.kind === 'concurrency') return NO_TIME
  if (limit.kind === 'bucket') {
    const missing = limit.burst * MICRO - Number(levelMicro ?? 0)
    if (missing <= 0) return NO_TIME
    const wholeAt = nowMs + Math.ceil(missing / (limit.rate * 1_000))
    const nextToken = MICRO - (Number(levelMicro ?? 0) % MICRO)
    return { resetsAt: nowMs + Math.ceil(nextToken / (limit.rate * 1_000)), wholeAt }
  }
  const holds = limits.state(limit.key)?.holds ?? []
  const ends = holds.map(([end]) => end).filter((end) => end > nowMs)
  return { resetsAt: ends[0] ?? null, wholeAt: ends.at(-1) ?? null }
}
