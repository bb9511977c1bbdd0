import type { LimitView } from '@fairlead/core'
import { capacityOf, type ExactInt } from '@fairlead/core/internal'
import type { BudgetFigures } from '@fairlead/engine'
import type { BudgetRecord } from '@fairlead/protocol'

const MICRO = 1_000_000n

/** `figures`: null for a limit that is counted elsewhere, of which only the sum is known. */
export function budgetRecord(
  view: LimitView,
  figures: BudgetFigures | null,
  given: {
    readonly at: number
    readonly waiting: number
    readonly holders: BudgetRecord['holders']
  },
): BudgetRecord {
  const { limit, pendingDecreaseTo } = view
  const { at, waiting, holders } = given
  const capacity = capacityOf(limit)
  const held = heldOf(view)
  const reserved = figures === null ? null : least(BigInt(figures.reserved), held)
  const debt = held > BigInt(capacity) ? held - BigInt(capacity) : 0n
  const resetsAt = figures?.resetsAt ?? null
  return {
    key: limit.key,
    kind: limit.kind,
    unit: limit.unit ?? null,
    description: limit.description ?? null,
    capacity,
    window_ms: 'windowSecs' in limit ? 1_000 * limit.windowSecs : null,
    rate_per_second: limit.kind === 'bucket' ? limit.rate : null,
    used: exact(held - (reserved ?? 0n)),
    reserved: reserved === null ? null : exact(reserved),
    free: exact(held > BigInt(capacity) ? 0n : BigInt(capacity) - held),
    debt: exact(debt),
    pending_decrease_to: pendingDecreaseTo,
    resets_at: resetsAt,
    resets_in_ms: resetsAt === null ? null : Math.max(0, resetsAt - at),
    whole_at: figures?.wholeAt ?? null,
    waiting,
    holders,
    holders_total: figures?.leases ?? null,
    reported: null,
  }
}

/** Of a bucket what is missing, in whole tokens, rounded up. */
function heldOf({ limit, held, levelMicro }: LimitView): bigint {
  if (limit.kind !== 'bucket') return BigInt(held ?? 0)
  const missing = BigInt(limit.burst) * MICRO - BigInt(levelMicro ?? 0)
  return missing <= 0n ? 0n : (missing + MICRO - 1n) / MICRO
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

/** Above 2^53 the digits are text. */
export function exact(amount: bigint | ExactInt): number | string {
  const number = Number(amount)
  return Number.isSafeInteger(number) ? number : amount.toString()
}
