import { type ExactInt, minus } from '../encoding/exact-int.ts'
import type { BucketLimit, Limit } from './limit-definition.ts'
import type { ActualUse, Meter, MeterState, MeterView } from './meter.ts'
import { TokenBucket } from './token-bucket.ts'

/** The latest date. A bucket may take longer to fill, and above 2^53 no time is exact. */
const LAST_MS = 8_640_000_000_000_000

/** A limit of kind `bucket`. Nothing in it is held; tokens come back with time (LIMIT-7). */
export class BucketMeter implements Meter {
  #limit: BucketLimit
  readonly #bucket: TokenBucket
  #countsFrom: number

  constructor(limit: BucketLimit, nowMs: number, countsFrom: number, level?: ExactInt) {
    this.#limit = limit
    this.#countsFrom = countsFrom
    const { burst } = limit
    const known = level === undefined ? {} : { level }
    this.#bucket = new TokenBucket({ burst, rateMilli: rateMilli(limit), nowMs, ...known })
  }

  get limit(): BucketLimit {
    return this.#limit
  }

  get waiting(): null {
    return null
  }

  get amountMax(): number {
    return this.#limit.burst
  }

  get countsFrom(): number {
    return this.#countsFrom
  }

  advance(nowMs: number): void {
    this.#bucket.advance(nowMs)
  }

  redefine(limit: Limit): void {
    this.#limit = limit as BucketLimit
    this.#bucket.change({ burst: this.#limit.burst, rateMilli: rateMilli(this.#limit) })
  }

  fits(amount: number, nowMs: number): boolean {
    return this.#bucket.has(amount, nowMs)
  }

  waitMs(amount: number, nowMs: number): number {
    return Math.max(1, this.#bucket.waitMs(amount, nowMs))
  }

  take(amount: number, nowMs: number): number {
    this.#bucket.take(amount)
    return Math.min(nowMs + this.#bucket.fillMs(), LAST_MS)
  }

  bookActual({ reserved, actual }: ActualUse): void {
    if (actual !== null) this.#bucket.take(minus(actual, reserved))
  }

  reset(from: number): void {
    this.#countsFrom = from
    this.#bucket.fill()
  }

  view(nowMs: number): MeterView {
    const levelMicro = this.#bucket.levelAt(nowMs)
    return { limit: this.#limit, waiting: null, held: null, levelMicro }
  }

  state(): MeterState {
    const bucket = { levelMicro: this.#bucket.levelMicro, atMs: this.#bucket.atMs }
    const { countsFrom } = this
    return { limit: this.#limit, waiting: null, holds: [], bucket, countsFrom }
  }
}

function rateMilli({ rate }: BucketLimit): number {
  return Math.round(rate * 1_000)
}
