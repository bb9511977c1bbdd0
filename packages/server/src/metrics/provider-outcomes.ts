import type { ProviderId } from '@fairlead/core'

export interface Outcomes {
  assigned: number
  completed: number
  failed: number
  declined: number
  rate_limited: number
}

export const OUTCOMES_WINDOW_MS = 60_000
/** Providers that are followed. */
const PROVIDERS_MAX = 10_000
/** Codes with which workers report an answer 429. */
const RATE_LIMITED: ReadonlySet<string> = new Set(['rate_limited', 'retry_after', 'http_429'])

interface Known {
  readonly total: Outcomes
  current: Outcomes
  last: Outcomes
}

/** What became of the attempts of each provider: since the start, and in the last minute or two. */
export class ProviderOutcomes {
  readonly #known = new Map<ProviderId, Known>()
  #since = 0

  add(id: ProviderId, outcome: keyof Outcomes, nowMs: number): void {
    this.#turn(nowMs)
    let known = this.#known.get(id)
    if (known === undefined) {
      if (this.#known.size >= PROVIDERS_MAX) return
      known = { total: none(), current: none(), last: none() }
      this.#known.set(id, known)
    }
    known.total[outcome]++
    known.current[outcome]++
  }

  /** A failure by its code; one that a rate limit led to counts as that, too. */
  addFailure(id: ProviderId, code: string | null, nowMs: number): void {
    this.add(id, 'failed', nowMs)
    if (code !== null && RATE_LIMITED.has(code)) this.add(id, 'rate_limited', nowMs)
  }

  of(id: ProviderId, nowMs: number): { readonly total: Outcomes; readonly recent: Outcomes } {
    this.#turn(nowMs)
    const { total = none(), current = none(), last = none() } = this.#known.get(id) ?? {}
    const recent = none()
    for (const outcome of Object.keys(recent) as (keyof Outcomes)[]) {
      recent[outcome] = current[outcome] + last[outcome]
    }
    return { total: { ...total }, recent }
  }

  #turn(nowMs: number): void {
    const passed = nowMs - this.#since
    if (passed < OUTCOMES_WINDOW_MS) return
    for (const known of this.#known.values()) {
      known.last = passed < 2 * OUTCOMES_WINDOW_MS ? known.current : none()
      known.current = none()
    }
    this.#since = nowMs
  }
}

function none(): Outcomes {
  return { assigned: 0, completed: 0, failed: 0, declined: 0, rate_limited: 0 }
}
