import type { Caller, JobRow, KindName, Policy } from '@fairlead/core'
import type { WriteBatch } from '@fairlead/core/internal'
import { broken } from '../../violation.ts'
import { weightOf } from './own-rules.ts'

interface Shares {
  virtual: bigint
  readonly finish: Map<Caller, bigint>
}

/** Start-time fair queueing as FAIR-2 to FAIR-4 put it, without heaps: V and each V_c above it. */
export class ShareBook {
  readonly #kinds = new Map<KindName, Shares>()

  /** A job was assigned. */
  book(job: JobRow, policy: Policy): void {
    const shares = this.#of(job.kind)
    const start = max(shares.virtual, shares.finish.get(job.caller) ?? 0n)
    shares.finish.set(job.caller, start + cost(job, job.units, policy))
    shares.virtual = start
  }

  /** A lease ended, and this many units were really used. */
  bookActualUnits(job: JobRow, actualUnits: number, policy: Policy): void {
    const shares = this.#of(job.kind)
    const from = max(shares.virtual, shares.finish.get(job.caller) ?? 0n)
    const to = from + cost(job, actualUnits, policy) - cost(job, job.units, policy)
    shares.finish.set(job.caller, to)
  }

  /** What is stored with this batch must be what the rules give. */
  compare({ meta, shares: rows }: WriteBatch): void {
    for (const [kind, { virtual, finish }] of this.#kinds) {
      const stored = meta[`virtual.${kind}`]
      if (stored !== undefined && BigInt(stored) !== virtual) {
        broken('fair-shares', `V of ${kind} is stored as ${stored}, it is ${virtual}`)
      }
      for (const [caller, at] of finish) if (at <= virtual) finish.delete(caller)
    }
    for (const { kind, caller, finish } of rows) {
      const due = this.#of(kind).finish.get(caller) ?? null
      if (due !== finish) {
        broken('fair-shares', `V_c of ${caller} for ${kind} is stored as ${finish}, it is ${due}`)
      }
    }
  }

  /** Every stored finish time, and no other. */
  compareAll(stored: ReadonlyMap<string, { readonly finish: bigint | null }>): void {
    let count = 0
    for (const [kind, { finish }] of this.#kinds) {
      for (const [caller, at] of finish) {
        count++
        const row = stored.get(`${kind}|${caller}`)
        if (row?.finish !== at) {
          broken(
            'fair-shares',
            `V_c of ${caller} for ${kind} is stored as ${row?.finish}, it is ${at}`,
          )
        }
      }
    }
    if (count !== stored.size)
      broken('fair-shares', `${stored.size} shares are stored, not ${count}`)
  }

  #of(kind: KindName): Shares {
    let shares = this.#kinds.get(kind)
    if (shares === undefined) {
      shares = { virtual: 0n, finish: new Map() }
      this.#kinds.set(kind, shares)
    }
    return shares
  }
}

/**
 * The promise of FAIR-7, in a world where it holds: all that is taken is assigned, and what is done
 * costs what was estimated. Of each two callers with work waiting it keeps how far `U_a/w_a − U_b/w_b` has swung.
 */
export class FairBound {
  readonly #callers = new Map<Caller, { used: number; largest: number }>()
  readonly #swings = new Map<string, { low: number; high: number }>()

  /** `waiting`: the callers that had a ready job when this one was chosen. */
  assigned(job: JobRow, waiting: ReadonlySet<Caller>, policy: Policy): void {
    for (const key of this.#swings.keys()) {
      const [a, b] = key.split('|') as [Caller, Caller]
      if (!waiting.has(a) || !waiting.has(b)) this.#swings.delete(key)
    }
    this.#swingAll(waiting)
    const share = job.units / weightOf(job, policy)
    const own = this.#callers.get(job.caller) ?? { used: 0, largest: 0 }
    this.#callers.set(job.caller, { used: own.used + share, largest: Math.max(own.largest, share) })
    this.#swingAll(waiting)
  }

  /** An offer came back unused (FAIR-3): what was said of its caller until now counts no more. */
  givenBack(job: JobRow, policy: Policy): void {
    const own = this.#callers.get(job.caller)
    if (own !== undefined) own.used -= job.units / weightOf(job, policy)
    for (const key of this.#swings.keys()) {
      if (key.split('|').includes(job.caller)) this.#swings.delete(key)
    }
  }

  #swingAll(waiting: ReadonlySet<Caller>): void {
    const sorted = [...waiting].sort()
    for (const [i, a] of sorted.entries()) for (const b of sorted.slice(i + 1)) this.#swing(a, b)
  }

  #swing(a: Caller, b: Caller): void {
    const [one, two] = [this.#callers.get(a), this.#callers.get(b)]
    const apart = (one?.used ?? 0) - (two?.used ?? 0)
    const key = `${a}|${b}`
    const swing = this.#swings.get(key) ?? { low: apart, high: apart }
    swing.low = Math.min(swing.low, apart)
    swing.high = Math.max(swing.high, apart)
    this.#swings.set(key, swing)
    const most = (one?.largest ?? 0) + (two?.largest ?? 0) + ROUNDING
    if (swing.high - swing.low > most) {
      broken('fair-bound', `${a} and ${b} are ${swing.high - swing.low} units apart, over ${most}`)
    }
  }
}

/** FAIR-2 rounds down by less than 2^−20 a job; the rest is for floating point here. */
const ROUNDING = 0.01

function cost(job: JobRow, units: number, policy: Policy): bigint {
  return (BigInt(units) << 20n) / BigInt(weightOf(job, policy))
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
