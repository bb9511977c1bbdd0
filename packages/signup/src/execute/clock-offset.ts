import type { HttpAnswer } from '../adapter/adapter.ts'
import { httpDate } from './retry-after.ts'

/** By how much the clock of a platform is ahead of ours, as far as its answers tell. */
export interface ClockOffset {
  readonly offsetMs: number
  /** The truth is at most so far from it. */
  readonly uncertaintyMs: number
  readonly samples: number
}

interface Bounds {
  low: number
  high: number
  samples: number
}

/**
 * Measures the clocks of platforms from the `Date` of real answers. A date is in whole seconds and was
 * written between the sending and the answer, so each gives bounds; several together give closer ones.
 * It is shown and decides nothing: `scheduled_time` stays authoritative (EXECUTE-6).
 */
export class ClockOffsets {
  readonly #bounds = new Map<string, Bounds>()

  note(
    platform: string,
    answer: {
      readonly headers: HttpAnswer['headers']
      readonly sentAt: number
      readonly answeredAt: number
    },
  ): void {
    const { headers, sentAt, answeredAt } = answer
    const date = headers['date']
    const said = httpDate(typeof date === 'string' ? date : undefined)
    if (Number.isNaN(said)) return
    const low = said - answeredAt
    const high = said + 1_000 - sentAt
    const known = this.#bounds.get(platform)
    // Bounds that do not meet: one of the two clocks was set, and what was known is no more.
    if (known === undefined || low > known.high || high < known.low) {
      this.#bounds.set(platform, { low, high, samples: 1 })
      return
    }
    known.low = Math.max(known.low, low)
    known.high = Math.min(known.high, high)
    known.samples++
  }

  of(platform: string): ClockOffset | null {
    const known = this.#bounds.get(platform)
    if (known === undefined) return null
    const { low, high, samples } = known
    const offsetMs = Math.round((low + high) / 2)
    return { offsetMs, uncertaintyMs: Math.ceil((high - low) / 2), samples }
  }

  all(): Readonly<Record<string, ClockOffset>> {
    const entries = [...this.#bounds.keys()].sort().map((name) => [name, this.of(name)] as const)
    return Object.fromEntries(entries) as Record<string, ClockOffset>
  }
}
