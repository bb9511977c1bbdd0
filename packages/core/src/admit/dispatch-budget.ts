import type { PlatformPolicy } from '../policy/platform-policy.ts'

/** A token, in the millionths that the level is counted in. */
const TOKEN = 1_000_000
const RECOVERY_MS = 10_000
/** A tenth of a send per second: no number of 429s takes the rate below this. */
const RATE_MILLI_MIN = 100
/** The largest factor by which the spacing can grow. */
const SPACING_FACTOR_MAX = 8

/**
 * The send budget of one dispatch key: a token bucket, a cap on attempts in flight, and the spacing between sends
 * of a session. All of it is plain, durable data.
 *
 * A 429 halves the rate and the cap and doubles the spacing. Every 10 s without a 429 restores a tenth of the
 * configured values. Neither refill nor recovery needs a timer: both follow from the stored times. `recoverBudget`
 * applies the recoveries that are due. A refill is computed when the level is read and booked with the next
 * change, so that a read changes nothing.
 */
export interface DispatchBudget {
  /** In millionths of a token, as of `levelAt`. */
  level: number
  levelAt: number
  /** In thousandths of a token per second, which equals millionths per millisecond. */
  rate: number
  /** Attempts allowed in flight, in tenths. */
  conc10: number
  /** The spacing between sends of a session, in tenths of a millisecond. */
  spacing10: number
  /** Before this time nothing is sent or refilled; null if no pause was ever requested. */
  pausedUntil: number | null
  halvedAt: number | null
  /** The last 429 or recovery; the next recovery is 10 s later. */
  throttledAt: number | null
}

/** An untouched budget: a full bucket, everything as configured (BUDGET-2). */
export function openBudget(policy: PlatformPolicy, nowMs: number): DispatchBudget {
  return {
    level: policy.burst * TOKEN,
    levelAt: nowMs,
    ...configured(policy),
    pausedUntil: null,
    halvedAt: null,
    throttledAt: null,
  }
}

/** Applies the recoveries that are due. Each rate counts until the time at which it changes (BUDGET-6). */
export function recoverBudget(
  budget: DispatchBudget,
  policy: PlatformPolicy,
  nowMs: number,
): boolean {
  const { throttledAt } = budget
  for (;;) {
    const at = nextRecoveryAt(budget, policy)
    if (at > nowMs) break
    accrue(budget, policy, at)
    recover(budget, policy)
    budget.throttledAt = at
  }
  return budget.throttledAt !== throttledAt
}

/** Recovers and refills up to `nowMs`. */
export function advanceBudget(budget: DispatchBudget, policy: PlatformPolicy, nowMs: number): void {
  recoverBudget(budget, policy, nowMs)
  accrue(budget, policy, nowMs)
}

/** The platform answered 429 to an attempt of this dispatch key (BUDGET-4, BUDGET-5). */
export function throttleBudget(
  budget: DispatchBudget,
  policy: PlatformPolicy,
  answer: { readonly nowMs: number; readonly sentAt: number; readonly retryAfterMs: number },
): void {
  const { nowMs, sentAt, retryAfterMs } = answer
  // The outcome comes before a recovery that is due at the same time, and postpones it.
  advanceBudget(budget, policy, nowMs - 1)
  accrue(budget, policy, nowMs)
  // Attempts that were in flight when the key slowed down tell nothing about its new rate.
  if (budget.halvedAt === null || sentAt >= budget.halvedAt) {
    halve(budget, policy)
    budget.halvedAt = nowMs
  }
  budget.throttledAt = nowMs
  if (retryAfterMs > 0) {
    budget.pausedUntil = Math.max(budget.pausedUntil ?? 0, nowMs + retryAfterMs)
    budget.level = Math.min(budget.level, TOKEN)
  }
}

/** True if one more attempt may be sent now. The recoveries that are due must have been applied. */
export function admitsSend(
  budget: DispatchBudget,
  policy: PlatformPolicy,
  at: { readonly inFlight: number; readonly nowMs: number },
): boolean {
  const { inFlight, nowMs } = at
  return admitsLookup(budget, inFlight, nowMs) && levelAt(budget, policy, nowMs) >= TOKEN
}

/** True if a lookup may start now. A lookup is no send: it needs a slot in flight but no token (ATTEMPT-9). */
export function admitsLookup(budget: DispatchBudget, inFlight: number, nowMs: number): boolean {
  const isPaused = budget.pausedUntil !== null && nowMs < budget.pausedUntil
  return !isPaused && inFlight < allowedInFlight(budget)
}

/** Takes one token for a send. A retry takes one too. */
export function takeToken(budget: DispatchBudget, policy: PlatformPolicy, nowMs: number): void {
  accrue(budget, policy, nowMs)
  budget.level -= TOKEN
}

export function allowedInFlight(budget: DispatchBudget): number {
  return Math.floor(budget.conc10 / 10)
}

/** The spacing between sends of one session if it is widened (BUDGET-7); otherwise 0. */
export function widenedSpacingMs(budget: DispatchBudget, policy: PlatformPolicy): number {
  return budget.spacing10 > 10 * policy.minSpacingMs ? Math.ceil(budget.spacing10 / 10) : 0
}

/** The maximum spacing: an older send holds no other send back. */
export function spacingMsMax(policy: PlatformPolicy): number {
  return SPACING_FACTOR_MAX * policy.minSpacingMs
}

/** When the pause is over and a token is available, unless the rate changes earlier; may be infinite. */
export function nextTokenAt(budget: DispatchBudget): number {
  const from = refillsFrom(budget)
  if (budget.level >= TOKEN) return from
  return budget.rate === 0 ? Infinity : from + Math.ceil((TOKEN - budget.level) / budget.rate)
}

/** Infinite while all values are as configured. */
export function nextRecoveryAt(budget: DispatchBudget, policy: PlatformPolicy): number {
  const { throttledAt } = budget
  return throttledAt === null || isAsConfigured(budget, policy)
    ? Infinity
    : throttledAt + RECOVERY_MS
}

/** True if a budget, advanced to now, equals a new one: full, as configured and not paused (DISPATCH-9). */
export function isUnused(budget: DispatchBudget, policy: PlatformPolicy, nowMs: number): boolean {
  const isPaused = budget.pausedUntil !== null && nowMs < budget.pausedUntil
  return !isPaused && budget.level === policy.burst * TOKEN && isAsConfigured(budget, policy)
}

/** Switches to another policy. A throttled budget stays throttled, within the new bounds (BUDGET-8). */
export function changeBudget(
  budget: DispatchBudget,
  change: { readonly from: PlatformPolicy; readonly to: PlatformPolicy; readonly nowMs: number },
): void {
  const { from, to, nowMs } = change
  advanceBudget(budget, from, nowMs)
  const full = configured(to)
  if (isAsConfigured(budget, from)) Object.assign(budget, full)
  budget.rate = Math.min(budget.rate, full.rate)
  budget.conc10 = Math.min(budget.conc10, full.conc10)
  const spacing10Max = SPACING_FACTOR_MAX * full.spacing10
  budget.spacing10 = Math.min(spacing10Max, Math.max(full.spacing10, budget.spacing10))
  budget.level = Math.min(budget.level, to.burst * TOKEN)
}

type Pace = Pick<DispatchBudget, 'rate' | 'conc10' | 'spacing10'>

function configured(policy: PlatformPolicy): Pace {
  const { maxRpsMilli, maxConcurrency, minSpacingMs } = policy
  return { rate: maxRpsMilli, conc10: 10 * maxConcurrency, spacing10: 10 * minSpacingMs }
}

function isAsConfigured(budget: DispatchBudget, policy: PlatformPolicy): boolean {
  const { rate, conc10, spacing10 } = configured(policy)
  return budget.rate === rate && budget.conc10 === conc10 && budget.spacing10 === spacing10
}

function halve(budget: DispatchBudget, policy: PlatformPolicy): void {
  const full = configured(policy)
  const rateMin = Math.min(full.rate, RATE_MILLI_MIN)
  budget.rate = Math.max(rateMin, Math.floor(budget.rate / 2))
  budget.conc10 = Math.max(Math.min(full.conc10, 10), Math.floor(budget.conc10 / 2))
  budget.spacing10 = Math.min(SPACING_FACTOR_MAX * full.spacing10, 2 * budget.spacing10)
}

function recover(budget: DispatchBudget, policy: PlatformPolicy): void {
  const full = configured(policy)
  budget.rate = Math.min(full.rate, budget.rate + Math.ceil(full.rate / 10))
  budget.conc10 = Math.min(full.conc10, budget.conc10 + policy.maxConcurrency)
  budget.spacing10 = Math.max(full.spacing10, budget.spacing10 - policy.minSpacingMs)
}

function accrue(budget: DispatchBudget, policy: PlatformPolicy, nowMs: number): void {
  budget.level = levelAt(budget, policy, nowMs)
  budget.levelAt = Math.max(budget.levelAt, nowMs)
}

/** A pause stops the refill, so that no burst follows it. */
function levelAt(budget: DispatchBudget, policy: PlatformPolicy, nowMs: number): number {
  const elapsedMs = Math.max(0, nowMs - refillsFrom(budget))
  return Math.min(policy.burst * TOKEN, budget.level + budget.rate * elapsedMs)
}

function refillsFrom({ levelAt, pausedUntil }: DispatchBudget): number {
  return Math.max(levelAt, pausedUntil ?? 0)
}
