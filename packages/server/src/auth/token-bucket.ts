/** So many at once, and so many a second. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** A bucket for each key; who takes more than it holds is told to come back later (AUTH-6). */
export class TokenBuckets {
  readonly #rate: Rate
  readonly #buckets = new Map<string, { level: number; at: number }>()

  constructor(rate: Rate) {
    this.#rate = rate
  }

  /** 0 if there was enough, else how many milliseconds to wait. */
  take(key: string, amount: number, nowMs: number): number {
    const { perSecond, burst } = this.#rate
    const bucket = this.#buckets.get(key) ?? this.#add(key, nowMs)
    bucket.level = Math.min(burst, bucket.level + ((nowMs - bucket.at) * perSecond) / 1_000)
    bucket.at = nowMs
    if (bucket.level >= amount) {
      bucket.level -= amount
      return 0
    }
    return Math.max(1, Math.ceil(((amount - bucket.level) * 1_000) / perSecond))
  }

  #add(key: string, nowMs: number): { level: number; at: number } {
    if (this.#buckets.size >= KEYS_MAX) this.#forgetFull(nowMs)
    const bucket = { level: this.#rate.burst, at: nowMs }
    this.#buckets.set(key, bucket)
    return bucket
  }

  /** A bucket that is full again is as good as none. If all are in use, all are forgotten. */
  #forgetFull(nowMs: number): void {
    const { perSecond, burst } = this.#rate
    for (const [key, { level, at }] of this.#buckets) {
      if (level + ((nowMs - at) * perSecond) / 1_000 >= burst) this.#buckets.delete(key)
    }
    if (this.#buckets.size >= KEYS_MAX) this.#buckets.clear()
  }
}

const KEYS_MAX = 10_000
