import { ceilDiv, type ExactInt, least, minus, plus, times } from '../encoding/exact-int.ts'

/** Millionths of a token in a token. */
export const MICRO = 1_000_000

/**
 * A bucket of tokens that refills continuously. The level is in millionths of a token. Each millisecond adds the
 * rate in thousandths per second, so that nothing is ever rounded (LIMIT-7).
 */
export class TokenBucket {
  #burst: number
  /** Thousandths of a token per second. */
  #rate: number
  #level: ExactInt
  #atMs: number

  constructor(options: { burst: number; rateMilli: number; nowMs: number; level?: ExactInt }) {
    this.#burst = options.burst
    this.#rate = options.rateMilli
    this.#level = options.level ?? times(options.burst, MICRO)
    this.#atMs = options.nowMs
  }

  /** In millionths, as of the last `advance`; below zero after usage beyond the estimate. */
  get levelMicro(): ExactInt {
    return this.#level
  }

  /** The time of the last `advance`. */
  get atMs(): number {
    return this.#atMs
  }

  /** The level at a time that is not before the last `advance`. Changes nothing. */
  levelAt(nowMs: number): ExactInt {
    if (nowMs <= this.#atMs) return this.#level
    const grown = plus(this.#level, times(this.#rate, nowMs - this.#atMs))
    return least(times(this.#burst, MICRO), grown)
  }

  /** Call this before each change, so that the level is as of that time. */
  advance(nowMs: number): void {
    if (nowMs <= this.#atMs) return
    this.#level = this.levelAt(nowMs)
    this.#atMs = nowMs
  }

  has(tokens: number, nowMs: number): boolean {
    return this.levelAt(nowMs) >= times(tokens, MICRO)
  }

  /** Takes tokens, below zero if necessary. A negative number gives some back, up to the burst. */
  take(tokens: ExactInt): void {
    const level = minus(this.#level, times(tokens, MICRO))
    this.#level = least(times(this.#burst, MICRO), level)
  }

  fill(): void {
    this.#level = times(this.#burst, MICRO)
  }

  /** Milliseconds until the bucket has that many tokens. */
  waitMs(tokens: number, nowMs: number): number {
    const missing = minus(times(tokens, MICRO), this.levelAt(nowMs))
    return missing <= 0 ? 0 : Number(ceilDiv(missing, this.#rate))
  }

  /** Milliseconds from empty to full. */
  fillMs(): number {
    return Number(ceilDiv(times(this.#burst, MICRO), this.#rate))
  }

  /** Changes size and rate from now on. The level is cut to the new size. */
  change({ burst, rateMilli }: { burst: number; rateMilli: number }): void {
    this.#burst = burst
    this.#rate = rateMilli
    this.#level = least(times(burst, MICRO), this.#level)
  }
}
