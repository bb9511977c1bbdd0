import { type ExactInt, plus } from '../encoding/exact-int.ts'
import { compareText } from '../encoding/text.ts'
import { wholeNumber } from '../encoding/whole-number.ts'
import { invalidParams } from '../errors.ts'
import { ACTUAL_FACTOR_MAX, countedActual } from './counted-actual.ts'
import {
  allowedAt,
  COMPLETED,
  type CompleteAnswer,
  type Excess,
  notAllowed,
  notCompleted,
  type ReserveAnswer,
} from './limit-answers.ts'
import { capacityOf, type Limit, readLimit } from './limit-definition.ts'
import type { Meter, MeterState, MeterView } from './meter.ts'
import { openMeter, restoreMeter } from './open-meter.ts'
import { type HeldLease, type RememberedLease, RememberedLeases } from './remembered-leases.ts'
import {
  type Actual,
  addUp,
  completeProblem,
  type Requirement,
  reserveProblem,
} from './reserve-request.ts'
import { type Reserved, ReservedSums } from './reserved.ts'

/** A limit in the form that people and programs see. */
export interface LimitView {
  readonly limit: Limit
  readonly state: 'active' | 'decreasing'
  readonly pendingDecreaseTo: number | null
  readonly held: MeterView['held']
  readonly levelMicro: MeterView['levelMicro']
}

export interface LimitsOptions {
  /** How long a finished or denied lease id is remembered. */
  readonly rememberMs?: number
  readonly leasesMax?: number
  /** The maximum for an actual as a multiple of the reserved amount, if that exceeds the capacity (LIMIT-19). */
  readonly actualFactorMax?: number
  readonly touch?: LimitsTouch
}

/** Called for every limit and lease whose stored form has changed. It only takes note, and must not throw. */
export interface LimitsTouch {
  readonly limit: (key: string) => void
  /** The lease may already be forgotten. */
  readonly lease: (id: string) => void
}

/** All state that influences decisions, as data. */
export interface LimitsState {
  readonly nowMs: number
  /** See `Limits.anewFrom`. */
  readonly anewFrom?: number
  readonly meters: readonly MeterState[]
  readonly leases: readonly (readonly [id: string, RememberedLease<StoredHold>])[]
}

export interface StoredHold {
  readonly key: string
  readonly amount: number
  readonly end: number
}

interface Need {
  readonly meter: Meter
  readonly amount: number
}

export const REMEMBER_MS = 60_000
export const LEASES_MAX = 1_000_000

/**
 * The limits of one limiter: reserve before the work, complete after it. No I/O and no clock: the same calls at
 * the same times give the same answers on every backend.
 */
export class Limits {
  readonly #meters = new Map<string, Meter>()
  readonly #leases: RememberedLeases<StoredHold>
  readonly #rememberMs: number
  readonly #touch: LimitsTouch | null
  #actualFactorMax: number
  #lastAllowed = allowedAt(0)
  #nowMs = 0
  #anewFrom = 0

  constructor(options: LimitsOptions = {}) {
    const { rememberMs = REMEMBER_MS, leasesMax = LEASES_MAX, touch = null } = options
    const { actualFactorMax = ACTUAL_FACTOR_MAX } = options
    this.#actualFactorMax = wholeNumber('actualFactorMax', actualFactorMax, { min: 1 })
    this.#rememberMs = wholeNumber('rememberMs', rememberMs, { min: 0 })
    this.#touch = touch
    this.#leases = new RememberedLeases(
      wholeNumber('leasesMax', leasesMax, { min: 1 }),
      touch?.lease,
    )
  }

  /** Continues exactly where `state()` was taken. */
  static restore(
    { nowMs, anewFrom = 0, meters, leases }: LimitsState,
    options: LimitsOptions = {},
  ): Limits {
    const limits = new Limits(options)
    limits.#nowMs = Math.max(nowMs, anewFrom)
    limits.#anewFrom = anewFrom
    for (const state of meters) limits.#meters.set(state.limit.key, restoreMeter(state))
    // Added as of time 0: leases that are over are forgotten when the time moves on, as usual.
    for (const [id, lease] of leases) limits.#leases.add(id, lease, 0)
    return limits
  }

  set actualFactorMax(factor: number) {
    this.#actualFactorMax = factor
  }

  /** The latest time from which a limit began to count afresh. It may be ahead of the latest call (LIMIT-20). */
  get anewFrom(): number {
    return this.#anewFrom
  }

  state(): LimitsState {
    const meters = this.#keys().map((key) => this.#meters.get(key) as Meter)
    const leases = [...this.#leases.entries(this.#nowMs)]
    return {
      nowMs: this.#nowMs,
      anewFrom: this.#anewFrom,
      meters: meters.map((meter) => meter.state()),
      leases,
    }
  }

  /** Defines a limit or changes one; `InvalidParams` if it is malformed or of another kind. */
  define(given: unknown, nowMs: number): LimitView {
    const now = this.#advance(nowMs)
    const limit = readLimit(given)
    const known = this.#meters.get(limit.key)
    if (known !== undefined && known.limit.kind !== limit.kind) {
      const why = `${known.limit.kind}, as it was defined; another kind needs another key`
      throw invalidParams('kind', why, limit.kind)
    }
    const meter = known ?? openMeter(limit, now)
    if (known === undefined) this.#meters.set(limit.key, meter)
    else {
      meter.advance(now)
      meter.redefine(limit)
    }
    this.#touch?.limit(limit.key)
    return viewOf(meter, now)
  }

  /** Frees all holds and debts of a limit; null if it does not exist (LIMIT-20). */
  reset(key: string, nowMs: number): LimitView | null {
    this.#advance(nowMs)
    const meter = this.#meters.get(key)
    if (meter === undefined) return null
    const from = this.#beginAnew()
    meter.advance(from)
    meter.reset(from)
    this.#touch?.limit(key)
    return viewOf(meter, from)
  }

  /** Deletes a limit; from now on leases hold nothing of it (LIMIT-20). False if it does not exist. */
  delete(key: string, nowMs: number): boolean {
    this.#advance(nowMs)
    if (!this.#meters.delete(key)) return false
    this.#beginAnew()
    this.#touch?.limit(key)
    return true
  }

  /** The limit as last defined; null if it does not exist. */
  definition(key: string): Limit | null {
    const meter = this.#meters.get(key)
    return meter === undefined ? null : (meter.waiting ?? meter.limit)
  }

  /** One limit as data, as of its last change; null if it does not exist. */
  limitState(key: string): MeterState | null {
    return this.#meters.get(key)?.state() ?? null
  }

  /** What live leases hold of each limit, and who holds the most of it. */
  reserved(nowMs: number): Map<string, Reserved> {
    const now = this.#latest(nowMs)
    const sums = new ReservedSums()
    for (const { lease, id } of this.#leases.held(now)) {
      for (const hold of lease.holds) {
        const counts = lease.reservedAt >= (this.#meters.get(hold.key)?.countsFrom ?? Infinity)
        if (hold.end > now && counts) sums.add(hold, lease.reservedAt, id)
      }
    }
    return sums.all
  }

  /** The record of a lease id, as data. */
  leaseState(id: string): RememberedLease<StoredHold> | null {
    return this.#leases.get(id, this.#nowMs) ?? null
  }

  /** Forgets a lease id that is due, before any call asks for it. */
  forgetIfDue(id: string, nowMs: number): void {
    this.#leases.get(id, this.#advance(nowMs))
  }

  get(key: string, nowMs: number): LimitView | null {
    const meter = this.#meters.get(key)
    return meter === undefined ? null : viewOf(meter, this.#latest(nowMs))
  }

  /** Every limit, in order of the keys. */
  list(nowMs: number): LimitView[] {
    const now = this.#latest(nowMs)
    return this.#keys().map((key) => viewOf(this.#meters.get(key) as Meter, now))
  }

  /** Holds all requirements or none (LIMIT-8). */
  reserve(leaseId: string, requirements: readonly Requirement[], nowMs: number): ReserveAnswer {
    const now = this.#advance(nowMs)
    const problem = reserveProblem(leaseId, requirements)
    if (problem !== null) return notAllowed('invalid_request', { detail: problem })
    const wanted = addUp(requirements)
    const known = this.#leases.get(leaseId, now)
    if (known !== undefined) return answerKnown(known, wanted, now)

    const needs: Need[] = []
    for (const { key, amount } of wanted) {
      const meter = this.#meters.get(key)
      if (meter === undefined) return notAllowed(`unknown_limit_key:${key}`, { deniedKey: key })
      needs.push({ meter, amount })
    }
    for (const { meter, amount } of needs) {
      const { key } = meter.limit
      if (amount > meter.amountMax) {
        return notAllowed(`exceeds_capacity:${key}`, { deniedKey: key })
      }
    }

    const denial = denialOf(needs, now)
    if (denial === null) return this.#hold(leaseId, needs, now)
    this.#leases.add(leaseId, { state: 'denied', forgetAt: now + this.#rememberMs }, now)
    this.#touch?.lease(leaseId)
    return denial
  }

  /**
   * How long until an amount fits, beside promised amounts that are not held yet. 0 means now. Time alone does not
   * change `unknown` and `too_large`. Nothing is reserved or remembered.
   */
  waitFor(
    key: string,
    amount: number,
    promised: number,
    nowMs: number,
  ): number | 'unknown' | 'too_large' {
    const now = this.#latest(nowMs)
    const meter = this.#meters.get(key)
    if (meter === undefined) return 'unknown'
    if (amount > meter.amountMax) return 'too_large'
    return meter.fits(amount + promised, now) ? 0 : meter.waitMs(amount + promised, now)
  }

  /** Holds amounts that another backend granted, without checking that they fit. Unknown keys are left out. */
  book(leaseId: string, requirements: readonly Requirement[], nowMs: number): void {
    const now = this.#advance(nowMs)
    if (this.#leases.get(leaseId, now) !== undefined) return
    const needs: Need[] = []
    for (const { key, amount } of addUp(requirements)) {
      const meter = this.#meters.get(key)
      if (meter !== undefined) needs.push({ meter, amount })
    }
    this.#hold(leaseId, needs, now)
  }

  /** The limits that a lease holds; none if it is unknown or has ended. */
  keysOf(leaseId: string): readonly string[] {
    const lease = this.#leases.get(leaseId, this.#nowMs)
    return lease?.state === 'held' ? lease.holds.map(({ key }) => key) : []
  }

  /** Replaces the reserved amounts by the actual usage and ends the lease (LIMIT-12). */
  complete(leaseId: string, actuals: readonly Actual[], nowMs: number): CompleteAnswer {
    const now = this.#advance(nowMs)
    const problem = completeProblem(leaseId, actuals)
    if (problem !== null) return notCompleted('invalid_request', problem)
    const lease = this.#leases.get(leaseId, now)
    if (lease?.state !== 'held') return COMPLETED
    let excess: Excess[] | null = null
    for (const hold of lease.holds) {
      const beyond = this.#bookActual(hold, lease.reservedAt, amountOf(actuals, hold.key), now)
      if (beyond > 0) {
        excess ??= []
        excess.push({ key: hold.key, amount: beyond })
      }
    }
    this.#leases.replace(leaseId, { state: 'completed', forgetAt: now + this.#rememberMs })
    this.#touch?.lease(leaseId)
    return excess === null ? COMPLETED : { ...COMPLETED, excess }
  }

  /** Returns the part of the actual that was too large to be booked (LIMIT-19). */
  #bookActual(
    { key, amount: reserved, end }: StoredHold,
    reservedAt: number,
    actual: ExactInt | null,
    nowMs: number,
  ): number {
    const meter = this.#meters.get(key)
    // The limit was deleted or reset since the reserve (LIMIT-20).
    if (meter === undefined || reservedAt < meter.countsFrom) return 0
    meter.advance(nowMs)
    this.#touch?.limit(key)
    if (actual === null || actual <= reserved || meter.limit.kind === 'concurrency') {
      meter.bookActual({ reserved, actual, end, nowMs })
      return 0
    }
    const capacity = capacityOf(meter.limit)
    const terms = { reserved, capacity, factor: this.#actualFactorMax }
    const { counted, excess } = countedActual(actual, terms)
    meter.bookActual({ reserved, actual: counted, end, nowMs })
    return excess
  }

  #hold(leaseId: string, needs: readonly Need[], now: number): ReserveAnswer {
    let endsAt = now
    // Allocated at its exact length. A list that grows by `push` has room for many more, and this one is kept with
    // the lease.
    const holds = Array<StoredHold>(needs.length)
    for (let i = 0; i < needs.length; i++) {
      const { meter, amount } = needs[i] as Need
      const { key } = meter.limit
      meter.advance(now)
      const end = meter.take(amount, now)
      holds[i] = { key, amount, end }
      if (end > endsAt) endsAt = end
      this.#touch?.limit(key)
    }
    const forgetAt = endsAt + this.#rememberMs
    this.#leases.add(leaseId, { state: 'held', reservedAt: now, endsAt, holds, forgetAt }, now)
    this.#touch?.lease(leaseId)
    // Answers of the same time are equal, so they share an object.
    if (this.#lastAllowed.reservedAtUnixMs !== now) this.#lastAllowed = allowedAt(now)
    return this.#lastAllowed
  }

  /** Begins to count afresh: only leases that are reserved from the returned time on count. */
  #beginAnew(): number {
    this.#anewFrom = this.#advance(this.#nowMs + 1)
    return this.#anewFrom
  }

  #keys(): string[] {
    return [...this.#meters.keys()].sort(compareText)
  }

  /** Moves the time on; it never goes back. */
  #advance(nowMs: number): number {
    if (nowMs > this.#nowMs) this.#nowMs = nowMs
    return this.#nowMs
  }

  /** The time for a read, which does not move the time on. */
  #latest(nowMs: number): number {
    return Math.max(nowMs, this.#nowMs)
  }
}

/** The answer for an id that holds other requirements. */
export const OTHER_REQUIREMENTS = 'lease_id: expected a new one for other requirements'

/** The first key that does not fit gives the reason, the slowest key gives the wait (LIMIT-11). */
function denialOf(needs: readonly Need[], now: number): ReserveAnswer | null {
  let first: Meter | null = null
  let retryAfterMs = 0
  for (const { meter, amount } of needs) {
    if (meter.fits(amount, now)) continue
    first ??= meter
    retryAfterMs = Math.max(retryAfterMs, meter.waitMs(amount, now))
  }
  if (first === null) return null
  const { key } = first.limit
  const { waiting } = first.view(now)
  const error = waiting === null ? null : `limit_decreasing:${key}`
  return notAllowed(error, { deniedKey: key, retryAfterMs })
}

/** The total usage of a key, or null if none was given. */
function amountOf(actuals: readonly Actual[], key: string): ExactInt | null {
  let sum: ExactInt | null = null
  for (const one of actuals) if (one.key === key) sum = plus(sum ?? 0, one.amount)
  return sum
}

function answerKnown(
  lease: RememberedLease<StoredHold>,
  wanted: readonly Requirement[],
  now: number,
): ReserveAnswer {
  if (lease.state === 'denied') return notAllowed('lease_already_denied')
  if (lease.state !== 'held' || now >= lease.endsAt) return notAllowed('lease_finished')
  if (holdsJust(lease, wanted)) return allowedAt(lease.reservedAt)
  return notAllowed('invalid_request', { detail: OTHER_REQUIREMENTS })
}

function holdsJust({ holds }: HeldLease<StoredHold>, wanted: readonly Requirement[]): boolean {
  const isHeld = ({ key, amount }: Requirement): boolean =>
    holds.some((hold) => hold.key === key && hold.amount === amount)
  return holds.length === wanted.length && wanted.every(isHeld)
}

function viewOf(meter: Meter, nowMs: number): LimitView {
  const { limit, waiting, held, levelMicro } = meter.view(nowMs)
  return {
    limit,
    state: waiting === null ? 'active' : 'decreasing',
    pendingDecreaseTo: waiting === null ? null : capacityOf(waiting),
    held,
    levelMicro,
  }
}
