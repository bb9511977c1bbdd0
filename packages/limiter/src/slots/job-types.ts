import {
  adjustRatios,
  type BorrowInput,
  DAY_MS,
  initRatios,
  isOfMinute,
  isOfTokens,
  MINUTE_MS,
  mayBorrow,
  RATE_DIMENSIONS,
  type RatioPolicy,
  type Ratios,
  type SlotPool,
  type TypeLoad,
  type TypeSlots,
  typeSlots,
  type Usage,
  WHOLE_PPM,
} from '@fairlead/core/limits'
import type { JobType } from './model-options.ts'

/** Starts of one job type on one model: one counter for each window length, and what runs. */
interface Counter {
  minute: number
  minuteStarts: number
  day: number
  dayStarts: number
  inFlight: number
}

/**
 * How an instance divides its part of each model among its job types (SLOT-4, SLOT-6). Ratios are its own affair
 * and never leave it. A start counts in its minute and its day, and finishing gives nothing of that back; what
 * is in flight is given back.
 */
export class JobTypes {
  readonly #types: ReadonlyMap<string, JobType>
  readonly #policy: RatioPolicy
  readonly #minCapacity: number
  readonly #memoryKB: number | null
  readonly #counters = new Map<string, Counter>()
  #ratios: Ratios

  constructor(options: {
    readonly types: readonly JobType[]
    readonly policy: RatioPolicy
    readonly minCapacity: number
    readonly memoryKB: number | null
  }) {
    this.#types = new Map(options.types.map((type) => [type.name, type]))
    this.#policy = options.policy
    this.#minCapacity = options.minCapacity
    this.#memoryKB = options.memoryKB
    this.#ratios = initRatios(options.types)
  }

  get ratios(): Ratios {
    return this.#ratios
  }

  slots(type: JobType, { shares, totalSlots }: SlotPool): TypeSlots {
    return typeSlots({
      shares,
      totalSlots,
      ratioPpm: this.#ratios.get(type.name) ?? 0,
      estimate: type.estimate,
      minCapacity: this.#minCapacity,
    })
  }

  inFlight(type: string, model: string): number {
    return this.#counters.get(counterKey(type, model))?.inFlight ?? 0
  }

  /** Whether the type has slots of its own left: every counter is below its slots (SLOT-6). */
  hasRoom(type: JobType, model: string, pool: SlotPool, nowMs: number): boolean {
    const { minute, day, concurrency } = this.#free(type, model, pool, nowMs)
    return minute > 0 && day > 0 && concurrency > 0 && this.#hasMemory(type)
  }

  /** Counts a start of the type's own slots. */
  start(type: JobType, model: string, pool: SlotPool, nowMs: number): boolean {
    if (!this.hasRoom(type, model, pool, nowMs)) return false
    count(this.#counter(type.name, model, nowMs))
    return true
  }

  /** Counts a start of the model's own slots, by a type that has used up its own (SLOT-18). */
  borrow(
    type: JobType,
    model: string,
    part: {
      readonly pool: SlotPool
      readonly left: BorrowInput['left']
      /** Starts that were counted before and are not in `left` yet. */
      readonly ahead: number
    },
    nowMs: number,
  ): boolean {
    const { pool, left, ahead } = part
    const { minute, day } = this.#free(type, model, pool, nowMs)
    const { tokens, requests } = type.estimate
    const may = mayBorrow({
      estimate: { tokens: tokens * (ahead + 1), requests: requests * (ahead + 1) },
      own: { minute: minute > 0, day: day > 0 },
      left,
      kept: this.#kept(type, model, pool, nowMs),
      totalSlots: pool.totalSlots,
      inFlight: this.#inFlightOf(model),
    })
    if (!may || !this.#hasMemory(type)) return false
    count(this.#counter(type.name, model, nowMs))
    return true
  }

  /** Counts a start of what the division among instances leaves over: it is no type's (SLOT-3). */
  startOfCommon(type: JobType, model: string, nowMs: number): boolean {
    if (!this.#hasMemory(type)) return false
    count(this.#counter(type.name, model, nowMs))
    return true
  }

  /** The shared acquire refused what was counted at that time: it never started. */
  takeBack(type: string, model: string, startedAt: number): void {
    const counter = this.#counter(type, model, startedAt)
    if (counter.minute === Math.floor(startedAt / MINUTE_MS)) counter.minuteStarts--
    if (counter.day === Math.floor(startedAt / DAY_MS)) counter.dayStarts--
    counter.inFlight--
  }

  finish(type: string, model: string, nowMs: number): void {
    this.#counter(type, model, nowMs).inFlight--
  }

  /** Moves shares from idle types to busy ones; whether any moved (SLOT-9). */
  adjust(pools: ReadonlyMap<string, SlotPool>, nowMs: number): boolean {
    const loads = [...this.#types.values()].map((type) => this.#loadOf(type, pools, nowMs))
    const next = adjustRatios(loads, this.#policy)
    const hasChanged = [...next].some(([name, ratio]) => this.#ratios.get(name) !== ratio)
    this.#ratios = next
    return hasChanged
  }

  #loadOf(type: JobType, pools: ReadonlyMap<string, SlotPool>, nowMs: number): TypeLoad {
    let slots = 0
    let used = 0
    for (const [model, pool] of pools) {
      const { winner } = this.slots(type, pool)
      if (winner === null) continue
      const counter = this.#counter(type.name, model, nowMs)
      slots += winner.slots
      // What is borrowed on one model says nothing of the slots on another.
      used += Math.min(winner.slots, usedOf(counter, winner.windowMs))
    }
    const ratioPpm = this.#ratios.get(type.name) ?? 0
    return { name: type.name, ratioPpm, flexible: type.isFlexible, slots, used }
  }

  /** How many more may start; infinity where there is no limit. */
  #free(type: JobType, model: string, pool: SlotPool, nowMs: number): Free {
    const counter = this.#counter(type.name, model, nowMs)
    const { day, minute, concurrency } = this.slots(type, pool).slots
    const rest = (slots: number | null, taken: number): number =>
      slots === null ? Number.POSITIVE_INFINITY : Math.max(0, slots - taken)
    return {
      minute: rest(minute, counter.minuteStarts),
      day: rest(day, counter.dayStarts),
      concurrency: rest(concurrency, counter.inFlight),
    }
  }

  /** What the other types' free slots take of each window. */
  #kept(borrower: JobType, model: string, pool: SlotPool, nowMs: number): Usage {
    const kept = { tpm: 0, rpm: 0, tpd: 0, rpd: 0 }
    for (const type of this.#types.values()) {
      if (type.name === borrower.name) continue
      const { minute, day } = this.#free(type, model, pool, nowMs)
      for (const dimension of RATE_DIMENSIONS) {
        const each = isOfTokens(dimension) ? type.estimate.tokens : type.estimate.requests
        const starts = isOfMinute(dimension) ? Math.min(minute, day) : day
        // Nothing is kept where there is no limit, and for a job that is larger than the instance's part.
        const part = pool.shares[dimension]
        if (each > 0 && part !== null && each <= part) kept[dimension] += starts * each
      }
    }
    return kept
  }

  #inFlightOf(model: string): number {
    let sum = 0
    for (const type of this.#types.keys()) sum += this.inFlight(type, model)
    return sum
  }

  #hasMemory({ name, memoryKB }: JobType): boolean {
    if (this.#memoryKB === null || memoryKB === 0) return true
    const share = BigInt(this.#memoryKB) * BigInt(this.#ratios.get(name) ?? 0)
    const slots = Number(share / (BigInt(memoryKB) * BigInt(WHOLE_PPM)))
    let running = 0
    const ofType = counterKey(name, '')
    for (const [key, { inFlight }] of this.#counters)
      if (key.startsWith(ofType)) running += inFlight
    return running < Math.max(this.#minCapacity, slots)
  }

  #counter(type: string, model: string, nowMs: number): Counter {
    const key = counterKey(type, model)
    const minute = Math.floor(nowMs / MINUTE_MS)
    const day = Math.floor(nowMs / DAY_MS)
    let counter = this.#counters.get(key)
    if (counter === undefined) {
      counter = { minute, minuteStarts: 0, day, dayStarts: 0, inFlight: 0 }
      this.#counters.set(key, counter)
    }
    // Never back: a shared clock is known to within a round trip only.
    if (minute > counter.minute) Object.assign(counter, { minute, minuteStarts: 0 })
    if (day > counter.day) Object.assign(counter, { day, dayStarts: 0 })
    return counter
  }
}

interface Free {
  readonly minute: number
  readonly day: number
  readonly concurrency: number
}

/** Begins with the type; its length says where it ends, so that no two pairs are the same text. */
export function counterKey(type: string, model: string): string {
  return `${type.length} ${type} ${model}`
}

function count(counter: Counter): void {
  counter.minuteStarts++
  counter.dayStarts++
  counter.inFlight++
}

function usedOf(counter: Counter, windowMs: number): number {
  if (windowMs === DAY_MS) return counter.dayStarts
  return windowMs === MINUTE_MS ? counter.minuteStarts : counter.inFlight
}
