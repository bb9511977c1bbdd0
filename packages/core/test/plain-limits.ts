import type { Limit } from '../src/index.ts'
import type { Requirement } from '../src/internal.ts'

interface PlainHold {
  readonly key: string
  amount: bigint
  readonly end: number
}

interface PlainLease {
  readonly wanted: ReadonlyMap<string, number>
  readonly holds: readonly PlainHold[]
  readonly reservedAt: number
  readonly endsAt: number
  forgetAt: number
  state: 'held' | 'completed' | 'denied'
}

/**
 * The rules of limits again, written to be read and not to be fast: a list of holds that is filtered anew
 * at each question, every number a bigint, no slices, nothing remembered between calls.
 */
export class PlainLimits {
  readonly #limits = new Map<
    string,
    { now: Limit; next: Limit | null; level: bigint; at: number }
  >()
  #holds: PlainHold[] = []
  readonly #leases = new Map<string, PlainLease>()
  #now = 0

  define(limit: Limit, at: number): boolean {
    this.#advance(at)
    const known = this.#limits.get(limit.key)
    if (known !== undefined && known.now.kind !== limit.kind) return false
    if (known === undefined) {
      const level = limit.kind === 'bucket' ? BigInt(limit.burst) * 1_000_000n : 0n
      this.#limits.set(limit.key, { now: limit, next: null, level, at: this.#now })
    } else if (limit.kind === 'bucket') {
      known.now = limit
      known.level = smaller(known.level, BigInt(limit.burst) * 1_000_000n)
    } else {
      const isLower = limit.capacity < capacity(known.now)
      const mustWait = isLower && this.#held(limit.key) > BigInt(limit.capacity)
      known.next = mustWait ? limit : null
      if (!mustWait) known.now = limit
    }
    return true
  }

  reserve(id: string, requirements: readonly Requirement[], at: number): object {
    this.#advance(at)
    const wanted = new Map<string, number>()
    for (const { key, amount } of requirements) wanted.set(key, (wanted.get(key) ?? 0) + amount)
    const lease = this.#leases.get(id)
    if (lease !== undefined && this.#now < lease.forgetAt) return this.#again(lease, wanted)
    for (const key of wanted.keys()) {
      if (!this.#limits.has(key)) return refused(`unknown_limit_key:${key}`, key)
    }
    for (const [key, amount] of wanted) {
      const { now, next } = this.#state(key)
      if (amount > capacity(next ?? now)) return refused(`exceeds_capacity:${key}`, key)
    }
    const waits = [...wanted].map(([key, amount]) => this.#wait(key, amount))
    const first = [...wanted.keys()][waits.findIndex((wait) => wait > 0)]
    const nothing = { wanted, holds: [], reservedAt: 0, endsAt: 0 }
    if (first !== undefined) {
      this.#leases.set(id, { ...nothing, state: 'denied', forgetAt: this.#now + 60_000 })
      const error = this.#state(first).next === null ? null : `limit_decreasing:${first}`
      return { ...refused(error, first), retryAfterMs: Math.max(...waits) }
    }
    const holds = [...wanted].map(([key, amount]) => this.#take(key, BigInt(amount)))
    const endsAt = Math.max(...holds.map(({ end }) => end))
    const forgetAt = endsAt + 60_000
    this.#leases.set(id, { wanted, holds, reservedAt: this.#now, endsAt, forgetAt, state: 'held' })
    return { ...refused(null, null), allowed: true, reservedAtUnixMs: this.#now }
  }

  complete(id: string, actuals: readonly Requirement[], at: number): void {
    this.#advance(at)
    const lease = this.#leases.get(id)
    if (lease?.state !== 'held' || this.#now >= lease.forgetAt) return
    for (const hold of lease.holds) {
      const given = actuals.filter(({ key }) => key === hold.key)
      const actual = given.length === 0 ? null : given.reduce((sum, { amount }) => sum + amount, 0)
      this.#settle(hold, lease.wanted.get(hold.key) as number, actual)
    }
    lease.state = 'completed'
    lease.forgetAt = this.#now + 60_000
    this.#advance(at)
  }

  view(key: string, at: number): object {
    this.#advance(at)
    const { now, next, level } = this.#state(key)
    const decreasingTo = next === null ? null : capacity(next)
    const amount = now.kind === 'bucket' ? level : this.#held(key)
    return { capacity: capacity(now), decreasingTo, amount: String(amount) }
  }

  #again(lease: PlainLease, wanted: ReadonlyMap<string, number>): object {
    if (lease.state === 'denied') return refused('lease_already_denied', null)
    if (lease.state === 'completed' || this.#now >= lease.endsAt)
      return refused('lease_finished', null)
    const isSame =
      wanted.size === lease.wanted.size &&
      [...wanted].every(([key, amount]) => lease.wanted.get(key) === amount)
    if (!isSame) return refused('invalid_request', null)
    return { ...refused(null, null), allowed: true, reservedAtUnixMs: lease.reservedAt }
  }

  #settle(hold: PlainHold, reserved: number, actual: number | null): void {
    const { now, next } = this.#state(hold.key)
    const limit = this.#state(hold.key)
    if (now.kind === 'concurrency') hold.amount = 0n
    if (now.kind === 'concurrency' || actual === null) return
    // LIMIT-19: so many times what was reserved, or the capacity.
    const counted = Math.min(actual, Math.max(16 * reserved, capacity(now)))
    const difference = BigInt(counted - reserved)
    if (now.kind === 'bucket') {
      limit.level = smaller(limit.level - difference * 1_000_000n, BigInt(now.burst) * 1_000_000n)
    } else if (difference < 0n) hold.amount += difference
    else if (difference > 0n) {
      const fits = this.#held(hold.key) + difference <= BigInt(capacity(next ?? now))
      if (fits || now.overage !== 'deny') this.#take(hold.key, difference)
    }
  }

  /** 0 when it fits. */
  #wait(key: string, amount: number): number {
    const { now, next, level } = this.#state(key)
    if (now.kind === 'bucket') {
      const missing = BigInt(amount) * 1_000_000n - level
      const rate = BigInt(Math.round(now.rate * 1_000))
      return missing <= 0n ? 0 : Number((missing + rate - 1n) / rate)
    }
    if (next !== null) return 10_000
    const fits = (t: number): boolean =>
      this.#heldAt(key, t) + BigInt(amount) <= BigInt(now.capacity)
    if (fits(this.#now)) return 0
    if (now.kind === 'concurrency') return 100
    const ends = this.#holds.filter((hold) => hold.key === key).map(({ end }) => end)
    const soonest = ends.sort((a, b) => a - b).find(fits) as number
    return Math.max(1, soonest - this.#now)
  }

  #take(key: string, amount: bigint): PlainHold {
    const limit = this.#state(key)
    const { now } = limit
    const t = this.#now
    if (now.kind === 'bucket') {
      limit.level -= amount * 1_000_000n
      const full = Math.ceil((now.burst * 1_000_000) / Math.round(now.rate * 1_000))
      return { key, amount: 0n, end: t + full }
    }
    const hold = { key, amount, end: endOf(now, t) }
    this.#holds.push(hold)
    return hold
  }

  #held(key: string): bigint {
    return this.#heldAt(key, this.#now)
  }

  #heldAt(key: string, t: number): bigint {
    const live = this.#holds.filter((hold) => hold.key === key && t < hold.end)
    return live.reduce((sum, { amount }) => sum + amount, 0n)
  }

  #state(key: string): { now: Limit; next: Limit | null; level: bigint; at: number } {
    return this.#limits.get(key) as { now: Limit; next: Limit | null; level: bigint; at: number }
  }

  #advance(at: number): void {
    this.#now = Math.max(this.#now, at)
    for (const [key, limit] of this.#limits) {
      const { now, next } = limit
      if (now.kind === 'bucket') {
        const gain = BigInt(Math.round(now.rate * 1_000)) * BigInt(this.#now - limit.at)
        limit.level = smaller(limit.level + gain, BigInt(now.burst) * 1_000_000n)
      }
      limit.at = this.#now
      if (next !== null && this.#held(key) <= BigInt(capacity(next))) {
        limit.now = next
        limit.next = null
      }
    }
    this.#holds = this.#holds.filter(({ end }) => end > this.#now)
  }
}

function endOf(limit: Limit, t: number): number {
  if (limit.kind === 'concurrency') return t + 1_000 * limit.timeoutSecs
  if (limit.kind === 'bucket') return t
  const windowMs = 1_000 * limit.windowSecs
  if (limit.kind === 'fixed') return (Math.floor(t / windowMs) + 1) * windowMs
  const slice = Math.ceil(windowMs / 64)
  return (Math.floor(t / slice) + 1) * slice + windowMs
}

function capacity(limit: Limit): number {
  return limit.kind === 'bucket' ? limit.burst : limit.capacity
}

function refused(error: string | null, deniedKey: string | null): object {
  return { allowed: false, retryAfterMs: 0, reservedAtUnixMs: null, error, deniedKey }
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
