import type { PlatformPolicy } from '@fairlead/core/internal'
import type { Registration } from './registration.ts'

const TOKEN = 1_000_000
const RECOVERS_MS = 10_000

/** Rate in thousandths a second, attempts and distance in tenths. */
interface Pace {
  rate: number
  conc10: number
  spacing10: number
}

/** A budget in the order of its stored cells. */
export type BudgetCells = readonly [
  level: number,
  levelAt: number,
  rate: number,
  conc10: number,
  spacing10: number,
  pausedUntil: number | null,
  halvedAt: number | null,
  throttledAt: number | null,
]

/**
 * What one dispatch key has sent and may send, from the journal alone (BUDGET-2 to BUDGET-7). Times pass
 * step by step here: from one recovery to the next.
 */
export class OrgAccount {
  readonly platform: string
  readonly orgRef: string
  level: number
  levelAt: number
  pace: Pace
  pausedUntil: number | null = null
  halvedAt: number | null = null
  throttledAt: number | null = null
  servedLast: string | null = null
  readonly lastSends = new Map<string, number>()
  /** Those that live. */
  readonly jobs = new Set<Registration>()
  inFlight = 0
  /** Keys that were sent from while this one could have been, since its own last send; each with the rounds. */
  readonly passedBy = new Map<string, Set<number>>()
  /** Those that the newest round has passed over. */
  #passed: { readonly round: number; readonly registrations: Set<Registration> } | null = null
  /** Of weighted round robin, those that are not 0. */
  readonly figures = new Map<string, number>()

  constructor(key: { platform: string; orgRef: string }, policy: PlatformPolicy, atMs: number) {
    this.platform = key.platform
    this.orgRef = key.orgRef
    this.level = policy.burst * TOKEN
    this.levelAt = atMs
    this.pace = paceOf(policy)
  }

  advance(policy: PlatformPolicy, atMs: number): void {
    for (let at = this.recoversAt(policy); at <= atMs; at = this.recoversAt(policy)) {
      this.#refill(policy, at)
      const full = paceOf(policy)
      this.pace.rate = Math.min(full.rate, this.pace.rate + Math.ceil(full.rate / 10))
      this.pace.conc10 = Math.min(full.conc10, this.pace.conc10 + full.conc10 / 10)
      this.pace.spacing10 = Math.max(full.spacing10, this.pace.spacing10 - full.spacing10 / 10)
      this.throttledAt = at
    }
    this.#refill(policy, atMs)
  }

  /** Why nothing may be sent now; null if something may. A lookup needs no token. */
  refusal(policy: PlatformPolicy, atMs: number, isLookup: boolean): string | null {
    this.advance(policy, atMs)
    const allowed = Math.floor(this.pace.conc10 / 10)
    if (this.pausedUntil !== null && atMs < this.pausedUntil) {
      return `it is paused until ${this.pausedUntil}`
    }
    if (this.inFlight >= allowed) return `${this.inFlight} of ${allowed} are in flight`
    if (!isLookup && this.level < TOKEN) return `${this.level} of ${TOKEN} of a token are there`
    return null
  }

  /** The same, and nothing of the account moves on. */
  peekRefusal(policy: PlatformPolicy, atMs: number, isLookup: boolean): string | null {
    const { level, levelAt, throttledAt } = this
    const pace = { ...this.pace }
    const refusal = this.refusal(policy, atMs, isLookup)
    Object.assign(this, { level, levelAt, throttledAt, pace })
    return refusal
  }

  throttle(policy: PlatformPolicy, answer: { at: number; sentAt: number; waitMs: number }): void {
    const { at, sentAt, waitMs } = answer
    // Outcomes come before the recoveries of the same moment (DISPATCH-1).
    this.advance(policy, at - 1)
    this.#refill(policy, at)
    if (this.halvedAt === null || sentAt >= this.halvedAt) {
      const full = paceOf(policy)
      this.pace.rate = Math.max(Math.min(full.rate, 100), Math.floor(this.pace.rate / 2))
      this.pace.conc10 = Math.max(Math.min(full.conc10, 10), Math.floor(this.pace.conc10 / 2))
      this.pace.spacing10 = Math.min(8 * full.spacing10, 2 * this.pace.spacing10)
      this.halvedAt = at
    }
    this.throttledAt = at
    if (waitMs === 0) return
    this.pausedUntil = Math.max(this.pausedUntil ?? 0, at + waitMs)
    this.level = Math.min(this.level, TOKEN)
  }

  /** Those that a round has passed over; it asks for none of them again. */
  passedIn(round: number): Set<Registration> {
    if (this.#passed?.round !== round) this.#passed = { round, registrations: new Set() }
    return this.#passed.registrations
  }

  take(eventId: string, atMs: number): void {
    this.level -= TOKEN
    this.servedLast = eventId
    this.lastSends.set(eventId, atMs)
  }

  /** All that were ready gain their weight, and the one that is served pays for all (DISPATCH-4). */
  bookTurn(
    weights: Readonly<Record<string, number>>,
    sessions: readonly string[],
    served: string,
  ): void {
    for (const one of sessions) {
      const weight = weights[one] ?? 1
      this.figures.set(one, (this.figures.get(one) ?? 0) + weight)
      this.figures.set(served, (this.figures.get(served) ?? 0) - weight)
    }
  }

  /** One has ended; with the last of its session its figure is forgotten. */
  leave(registration: Registration): void {
    this.jobs.delete(registration)
    const { eventId } = registration
    if (![...this.jobs].some((one) => one.eventId === eventId)) this.figures.delete(eventId)
  }

  /** From when on a session may send again while the distance is widened (BUDGET-7). */
  spacedAt(policy: PlatformPolicy, eventId: string): number {
    const { spacing10 } = this.pace
    const last = this.lastSends.get(eventId)
    if (last === undefined || spacing10 <= 10 * policy.minSpacingMs) return 0
    return last + Math.ceil(spacing10 / 10)
  }

  recoversAt(policy: PlatformPolicy): number {
    if (this.throttledAt === null || this.isAsConfigured(policy)) return Number.POSITIVE_INFINITY
    return this.throttledAt + RECOVERS_MS
  }

  isAsConfigured(policy: PlatformPolicy): boolean {
    const full = paceOf(policy)
    const { rate, conc10, spacing10 } = this.pace
    return rate === full.rate && conc10 === full.conc10 && spacing10 === full.spacing10
  }

  /** A full bucket, nothing throttled, no pause: as if it had never been used. */
  isFresh(policy: PlatformPolicy, atMs: number): boolean {
    const isFull = this.level === policy.burst * TOKEN && this.isAsConfigured(policy)
    return isFull && (this.pausedUntil ?? 0) <= atMs
  }

  /** When the next token is there, as things stand. */
  tokenAt(): number {
    const from = Math.max(this.levelAt, this.pausedUntil ?? 0)
    return from + Math.max(0, Math.ceil((TOKEN - this.level) / this.pace.rate))
  }

  cells(): BudgetCells {
    const { level, levelAt, pausedUntil, halvedAt, throttledAt } = this
    const { rate, conc10, spacing10 } = this.pace
    return [level, levelAt, rate, conc10, spacing10, pausedUntil, halvedAt, throttledAt]
  }

  /** What cells that were stored before this time have come to by then. */
  cellsAt(cells: BudgetCells, policy: PlatformPolicy, atMs: number): BudgetCells {
    const [level, levelAt, rate, conc10, spacing10, pausedUntil, halvedAt, throttledAt] = cells
    const account = new OrgAccount(this, policy, atMs)
    const pace = { rate, conc10, spacing10 }
    Object.assign(account, { level, levelAt, pace, pausedUntil, halvedAt, throttledAt })
    account.advance(policy, atMs)
    return account.cells()
  }

  #refill({ burst }: PlatformPolicy, atMs: number): void {
    const from = Math.max(this.levelAt, this.pausedUntil ?? 0)
    const grown = this.level + this.pace.rate * Math.max(0, atMs - from)
    this.level = Math.min(burst * TOKEN, grown)
    this.levelAt = Math.max(this.levelAt, atMs)
  }
}

function paceOf({ maxRpsMilli, maxConcurrency, minSpacingMs }: PlatformPolicy): Pace {
  return { rate: maxRpsMilli, conc10: 10 * maxConcurrency, spacing10: 10 * minSpacingMs }
}
