import type { Clock } from '@fairlead/core'
import type { StandstillWatch } from '@fairlead/core/internal'

/** Drifts of the wall clock up to this size are followed; larger ones are only reported. */
const FOLLOWED_MS = 1_000
/** How often a running process checks in, and how long a gap counts as a standstill. */
const SEEN_EVERY_MS = 500
const STANDSTILL_MS = 3_000
/** The longest delay of a Node timer. */
const TIMER_MAX_MS = 2 ** 31 - 1

/**
 * Engine time: the wall clock at the start plus the monotonic clock. Setting the wall clock while the engine runs
 * moves no deadline (ENGINE-6).
 */
export class SystemClock implements Clock {
  readonly #startedAt = Date.now()
  readonly #startedMono = performance.now()
  #offset = 0

  now(): number {
    const steady = this.#startedAt + Math.floor(performance.now() - this.#startedMono)
    const drift = Date.now() - steady
    if (Math.abs(drift - this.#offset) <= FOLLOWED_MS) this.#offset = drift
    return steady + this.#offset
  }

  /** The distance of the wall clock from engine time, for metrics; 0 while the clock is followed. */
  driftMs(): number {
    return Date.now() - this.now()
  }

  wakeAt(atMs: number, wake: () => void): () => void {
    const delay = Math.min(TIMER_MAX_MS, Math.max(0, atMs - this.now()))
    const timer = setTimeout(wake, delay)
    return () => clearTimeout(timer)
  }

  watch(): StandstillWatch {
    let seenAt = performance.now()
    let hasHappened = false
    const see = (): void => {
      const now = performance.now()
      if (now - seenAt >= STANDSTILL_MS) hasHappened = true
      seenAt = now
    }
    const timer = setInterval(see, SEEN_EVERY_MS)
    timer.unref()
    return {
      hasHappened() {
        // The interval timer may fire only after this call.
        see()
        const answer = hasHappened
        hasHappened = false
        return answer
      },
      end: () => clearInterval(timer),
    }
  }
}
