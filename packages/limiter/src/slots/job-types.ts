import {
  adjustRatios,
  DAY_MS,
  initRatios,
  MINUTE_MS,
  type RatioPolicy,
  type Ratios,
  type SlotPool,
  type TypeLoad,
  type TypeSlots,
  typeSlots,
  WHOLE_PPM,
} from '@fairlead/core'
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

  /** Counts a start if every counter is below its slots. */
  start(type: JobType, model: string, pool: SlotPool, nowMs: number): boolean {
    const counter = this.#counter(type.name, model, nowMs)
    const { day, minute, concurrency } = this.slots(type, pool).slots
    const hasRoom = (count: number, slots: number | null): boolean =>
      slots === null || count < slots
    if (!hasRoom(counter.minuteStarts, minute) || !hasRoom(counter.dayStarts, day)) return false
    if (!hasRoom(counter.inFlight, concurrency) || !this.#hasMemory(type)) return false
    count(counter)
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
      used += usedOf(counter, winner.windowMs)
    }
    const ratioPpm = this.#ratios.get(type.name) ?? 0
    return { name: type.name, ratioPpm, flexible: type.isFlexible, slots, used }
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
