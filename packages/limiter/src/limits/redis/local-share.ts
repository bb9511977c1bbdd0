import {
  type Actual,
  type CompleteAnswer,
  capacityOf,
  type Limit,
  Limits,
  type LimitsState,
  notAllowed,
  type Requirement,
  type ReserveAnswer,
  UNKNOWN_RETRY_MS,
} from '@fairlead/core/limits'
import { newId } from '../../new-id.ts'
import type { Joined } from './scripts.ts'

/** Completes of leases that Redis granted, kept until it is back; the oldest are dropped beyond this. */
const COMPLETES_MAX = 10_000

/**
 * What an instance goes by while Redis is away and `onBackendLoss` is `local`: an equal share of each limit,
 * less what it holds already. What it grants meanwhile is told to Redis when that is back (REDIS-6).
 */
export class LocalShare {
  /** For Redis, so that what is told twice is heard once. */
  readonly id = newId()
  readonly #share: Limits
  /** Only what was granted here. */
  readonly #made = new Limits({ rememberMs: 0 })
  readonly #ids = new Set<string>()
  readonly #completes = new Map<string, readonly Actual[]>()
  /** Limits of which an instance's share is nothing. */
  readonly #empty = new Set<string>()

  constructor(held: LimitsState, instances: number) {
    this.#share = Limits.restore(held)
    for (const { limit } of held.meters) {
      const share = Math.floor(capacityOf(limit) / instances)
      this.#made.define(limit, held.nowMs)
      if (share === 0) this.#empty.add(limit.key)
      else this.#share.define(shareOf(limit, share, instances), held.nowMs)
    }
  }

  reserve(leaseId: string, amounts: readonly Requirement[], nowMs: number): ReserveAnswer {
    const empty = amounts.find(({ key }) => this.#empty.has(key))
    if (empty !== undefined) {
      return notAllowed(null, { deniedKey: empty.key, retryAfterMs: UNKNOWN_RETRY_MS })
    }
    const answer = this.#share.reserve(leaseId, amounts, nowMs)
    if (answer.allowed && this.#share.keysOf(leaseId).length > 0 && !this.#ids.has(leaseId)) {
      this.#ids.add(leaseId)
      this.#made.book(leaseId, amounts, answer.reservedAtUnixMs ?? nowMs)
    }
    return answer
  }

  complete(leaseId: string, actuals: readonly Actual[], nowMs: number): CompleteAnswer {
    if (this.#ids.has(leaseId)) this.#made.complete(leaseId, actuals, nowMs)
    else if (this.#completes.size < COMPLETES_MAX) this.#completes.set(leaseId, actuals)
    return this.#share.complete(leaseId, actuals, nowMs)
  }

  /** Completes that Redis has to hear of. */
  completes(): { readonly leaseId: string; readonly amounts: readonly Actual[] }[] {
    return [...this.#completes].map(([leaseId, amounts]) => ({ leaseId, amounts }))
  }

  /** What was granted here and still holds, limit by limit. */
  made(): ReadonlyMap<string, Pick<Joined, 'holds' | 'takenMicro'>> {
    return reportOf(this.#made.state())
  }
}

/** What is held of each limit, as Redis is told of it. */
export function reportOf({
  meters,
}: LimitsState): ReadonlyMap<string, Pick<Joined, 'holds' | 'takenMicro'>> {
  return new Map(
    meters.map(({ limit, holds, bucket }) => {
      const taken =
        limit.kind === 'bucket' && bucket !== null
          ? BigInt(limit.burst) * 1_000_000n - BigInt(bucket.levelMicro)
          : 0
      return [limit.key, { holds, takenMicro: taken }]
    }),
  )
}

/** A bucket's share fills as much more slowly as it is smaller. */
function shareOf(limit: Limit, share: number, instances: number): Limit {
  if (limit.kind !== 'bucket') return { ...limit, capacity: share }
  const rate = Math.max(1, Math.floor((limit.rate * 1_000) / instances)) / 1_000
  return { ...limit, burst: share, rate }
}
