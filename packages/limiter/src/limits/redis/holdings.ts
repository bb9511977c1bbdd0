import { type Limit, Limits, type LimitsState, type Requirement } from '@fairlead/core/limits'
import { systemClock } from '../../clock.ts'

/** After a loss new starts wait for one window, but no longer than this. */
const GUARD_MAX_MS = 120_000

/**
 * What this instance itself has been granted, by the clock of the server. A Redis without persistence
 * forgets everything when it restarts; then each instance tells it what it holds (REDIS-3).
 */
export class Holdings {
  readonly #limits: Limits
  #nowMs = 0
  #offsetMs = 0

  constructor(actualFactorMax: number) {
    // A completed id is of no more use here.
    this.#limits = new Limits({ rememberMs: 0, actualFactorMax })
  }

  /** How far the server's clock is ahead of this process's. */
  get clockOffsetMs(): number {
    return this.#offsetMs
  }

  define(limit: Limit): void {
    this.#limits.define(limit, this.#nowMs)
  }

  reset(key: string): void {
    this.#limits.reset(key, this.#nowMs)
  }

  delete(key: string): void {
    this.#limits.delete(key, this.#nowMs)
  }

  granted(leaseId: string, amounts: readonly Requirement[], atMs: number): void {
    this.#heardAt(atMs)
    this.#limits.book(leaseId, amounts, this.#nowMs)
  }

  completed(leaseId: string, actuals: readonly Requirement[], atMs: number): void {
    this.#heardAt(atMs)
    this.#limits.complete(leaseId, actuals, this.#nowMs)
  }

  /** The limits that a lease holds, if it is one of this instance. */
  keysOf(leaseId: string): readonly string[] {
    return this.#limits.keysOf(leaseId)
  }

  #heardAt(atMs: number): void {
    this.#offsetMs = atMs - systemClock.now()
    this.#nowMs = Math.max(this.#nowMs, atMs)
  }

  state(): LimitsState {
    return this.#limits.state()
  }
}

/** One window, at most 120 s: then what nobody could report has mostly ended. */
export function guardMsOf(limit: Limit): number {
  if (limit.kind === 'bucket') {
    return Math.min(GUARD_MAX_MS, Math.ceil((1_000 * limit.burst) / limit.rate))
  }
  const secs = limit.kind === 'concurrency' ? limit.timeoutSecs : limit.windowSecs
  return Math.min(GUARD_MAX_MS, 1_000 * secs)
}
