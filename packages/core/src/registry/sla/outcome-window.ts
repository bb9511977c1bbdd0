import type { Band, Sla } from '../../policy/sla-policy.ts'
import { bandOf, type Figures, figuresOf, isCharge, isTimeout, p95, rates } from './figures.ts'
import type { Outcome } from './outcome.ts'

/** The window as data. Outcome i has the number `first + i`, so that each can be a row of its own (SLA-9). */
export interface OutcomeWindowState {
  readonly first: number
  /** The oldest first. */
  readonly outcomes: readonly Outcome[]
}

/**
 * The newest outcomes of one provider and kind. Its band is needed for every claim that is priced, so the figures of
 * the whole window are kept up to date: the completions in ascending order, the rest as counts.
 */
export class OutcomeWindow {
  #outcomes: Outcome[] = []
  /** Where in the list the window begins; what is before it was dropped. */
  #start = 0
  #first: number
  readonly #unitMs: number[] = []
  #charges = 0
  #timeouts = 0

  constructor(state: OutcomeWindowState = { first: 0, outcomes: [] }) {
    this.#first = state.first
    for (const outcome of state.outcomes) this.#add(outcome)
  }

  /** The number of the oldest outcome; rows below it may be deleted. */
  get first(): number {
    return this.#first
  }

  get size(): number {
    return this.#outcomes.length - this.#start
  }

  /** The outcome of a number; null if the window does not have it. */
  at(n: number): Outcome | null {
    if (n < this.#first) return null
    return this.#outcomes[this.#start + n - this.#first] ?? null
  }

  /** Adds an outcome and answers with its number. Outcomes beyond the window of the policy are dropped for good. */
  record(outcome: Outcome, { window }: Pick<Sla, 'window'>): number {
    this.#add(outcome)
    this.trim(window)
    return this.#first + this.size - 1
  }

  /** Drops the oldest outcomes. Call it when the policy's window becomes smaller. */
  trim(window: number): void {
    while (this.size > window) this.#dropOldest()
    // The list is cut when half of it is dead, so that each outcome is moved once on average.
    if (this.#start <= this.#outcomes.length / 2) return
    this.#outcomes = this.#outcomes.slice(this.#start)
    this.#start = 0
  }

  /** The band by the newest outcomes (SLA-3). */
  band(sla: Sla): Band {
    return bandOf(this.figures(sla), sla)
  }

  /** The figures that decide the band. */
  figures({ window }: Pick<Sla, 'window'>): BandFigures {
    if (this.size > window) {
      const { outcomes, p95Ms, failPpm, availabilityPpm } = figuresOf(this.#newest(window))
      return { outcomes, p95Ms, failPpm, availabilityPpm }
    }
    const counts = { outcomes: this.size, charges: this.#charges, timeouts: this.#timeouts }
    return { outcomes: this.size, p95Ms: p95(this.#unitMs), ...rates(counts) }
  }

  /** The figures of those outcomes in the window whose time is in the epoch (SLA-4). */
  figuresIn(epoch: number, { window }: Pick<Sla, 'window'>): Figures {
    return figuresOf(this.#newest(window).filter((outcome) => outcome.epoch === epoch))
  }

  state(): OutcomeWindowState {
    return { first: this.#first, outcomes: this.#outcomes.slice(this.#start) }
  }

  #newest(window: number): Outcome[] {
    return this.#outcomes.slice(Math.max(this.#start, this.#outcomes.length - window))
  }

  #add(outcome: Outcome): void {
    this.#outcomes.push(outcome)
    if (isCharge(outcome)) this.#charges++
    if (isTimeout(outcome)) this.#timeouts++
    const { unitMs } = outcome
    if (unitMs !== null) this.#unitMs.splice(placeOf(this.#unitMs, unitMs), 0, unitMs)
  }

  #dropOldest(): void {
    const outcome = this.#outcomes[this.#start] as Outcome
    this.#start++
    this.#first++
    if (isCharge(outcome)) this.#charges--
    if (isTimeout(outcome)) this.#timeouts--
    const { unitMs } = outcome
    if (unitMs !== null) this.#unitMs.splice(placeOf(this.#unitMs, unitMs), 1)
  }
}

export type BandFigures = Pick<Figures, 'outcomes' | 'p95Ms' | 'failPpm' | 'availabilityPpm'>

/** The first place whose value is not below this one. */
function placeOf(sorted: readonly number[], value: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] as number) < value) low = middle + 1
    else high = middle
  }
  return low
}
