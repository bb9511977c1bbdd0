import { type ExactInt, minus, plus } from '../encoding/exact-int.ts'
import { HoldLedger } from './hold-ledger.ts'
import type { Limit, WindowLimit } from './limit-definition.ts'
import type { ActualUse, Meter, MeterState, MeterView } from './meter.ts'

/** Slices of a rolling window. */
const SLICES = 64
const CONCURRENCY_WAIT_MS = 100
const DECREASING_WAIT_MS = 10_000

/** Rolling, fixed and concurrency limits: they differ only in when a hold ends. */
export class WindowMeter implements Meter {
  #limit: WindowLimit
  #waiting: WindowLimit | null
  #ledger = new HoldLedger()
  #countsFrom: number

  constructor(
    limit: WindowLimit,
    countsFrom: number,
    waiting: WindowLimit | null = null,
    holds: MeterState['holds'] = [],
  ) {
    this.#limit = limit
    this.#countsFrom = countsFrom
    this.#waiting = waiting
    for (const [end, amount] of holds) this.#ledger.add(end, amount)
  }

  get limit(): WindowLimit {
    return this.#limit
  }

  get waiting(): WindowLimit | null {
    return this.#waiting
  }

  get countsFrom(): number {
    return this.#countsFrom
  }

  get amountMax(): number {
    return (this.#waiting ?? this.#limit).capacity
  }

  advance(nowMs: number): void {
    this.#ledger.expire(nowMs)
    this.#applyWaiting()
  }

  redefine(limit: Limit): void {
    this.#waiting = null
    const next = limit as WindowLimit
    const isLower = next.capacity < this.#limit.capacity
    if (isLower && this.#ledger.held > next.capacity) this.#waiting = next
    else this.#limit = next
  }

  fits(amount: number, nowMs: number): boolean {
    const held = this.#ledger.heldAt(nowMs)
    const limit = this.#inForce(held)
    return limit !== null && isRoomFor(amount, held, limit.capacity)
  }

  waitMs(amount: number, nowMs: number): number {
    const held = this.#ledger.heldAt(nowMs)
    const limit = this.#inForce(held)
    if (limit === null) return DECREASING_WAIT_MS
    if (limit.kind === 'concurrency') return CONCURRENCY_WAIT_MS
    const excess = minus(plus(held, amount), limit.capacity)
    // An amount that is not held yet will end like one that is reserved now.
    return Math.max(1, (this.#ledger.freeAt(excess, nowMs) ?? endOf(limit, nowMs)) - nowMs)
  }

  take(amount: number, nowMs: number): number {
    const end = endOf(this.#limit, nowMs)
    this.#ledger.add(end, amount)
    return end
  }

  bookActual({ reserved, actual, end, nowMs }: ActualUse): void {
    if (this.#limit.kind === 'concurrency') {
      this.#ledger.free(end, reserved)
    } else if (actual !== null && actual < reserved) {
      this.#ledger.free(end, minus(reserved, actual))
    } else if (actual !== null && actual > reserved) {
      this.#takeExcess(minus(actual, reserved), nowMs)
    }
    this.#applyWaiting()
  }

  reset(from: number): void {
    this.#countsFrom = from
    this.#ledger = new HoldLedger()
    this.#applyWaiting()
  }

  view(nowMs: number): MeterView {
    const held = this.#ledger.heldAt(nowMs)
    const limit = this.#inForce(held)
    const waiting = limit === null ? this.#waiting : null
    return { limit: limit ?? this.#limit, waiting, held, levelMicro: null }
  }

  state(): MeterState {
    const holds = this.#ledger.entries()
    const { countsFrom } = this
    return { limit: this.#limit, waiting: this.#waiting, holds, bucket: null, countsFrom }
  }

  #takeExcess(excess: ExactInt, nowMs: number): void {
    if (this.#limit.overage !== 'deny' || isRoomFor(excess, this.#ledger.held, this.amountMax)) {
      this.#ledger.add(endOf(this.#limit, nowMs), excess)
    }
  }

  /** The limit in force with this much held; null while a lower one waits. */
  #inForce(held: ExactInt): WindowLimit | null {
    if (this.#waiting === null) return this.#limit
    return held > this.#waiting.capacity ? null : this.#waiting
  }

  #applyWaiting(): void {
    const limit = this.#inForce(this.#ledger.held)
    if (limit === null) return
    this.#limit = limit
    this.#waiting = null
  }
}

function isRoomFor(amount: ExactInt, held: ExactInt, capacity: number): boolean {
  // The difference is exact where the sum might not be.
  return typeof held === 'number' ? amount <= capacity - held : plus(held, amount) <= capacity
}

/** When a hold that starts now ends (LIMIT-4, LIMIT-5, LIMIT-6). */
export function endOf(limit: WindowLimit, nowMs: number): number {
  if (limit.kind === 'concurrency') return nowMs + 1_000 * limit.timeoutSecs
  const windowMs = 1_000 * limit.windowSecs
  if (limit.kind === 'fixed') return nowMs - (nowMs % windowMs) + windowMs
  const sliceMs = Math.ceil(windowMs / SLICES)
  return nowMs - (nowMs % sliceMs) + sliceMs + windowMs
}
