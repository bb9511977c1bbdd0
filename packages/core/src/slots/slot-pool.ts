import { type ExactInt, floorDiv, least, times } from '../encoding/exact-int.ts'

/** The limits of a provider for a model. Null means no limit, 0 is a limit of zero. */
export interface ModelLimits {
  readonly tpm: number | null
  readonly rpm: number | null
  readonly tpd: number | null
  readonly rpd: number | null
  readonly maxConcurrency: number | null
}

export type RateDimension = 'tpm' | 'rpm' | 'tpd' | 'rpd'
export type Dimension = RateDimension | 'concurrency'
export type Usage = Readonly<Record<RateDimension, number>>

/** The share of one instance in each dimension; null if there is no limit. */
export type Shares = Readonly<Record<Dimension, number | null>>

/** The estimated usage of one job of a type. */
export interface JobEstimate {
  readonly tokens: number
  readonly requests: number
}

export interface SlotPool {
  readonly shares: Shares
  /** The remainder of the division, which the first instance to ask may use (SLOT-3). */
  readonly common: Readonly<Record<RateDimension, number | null>>
  readonly totalSlots: number | null
}

/** In the order in which the shared acquire checks them. */
export const RATE_DIMENSIONS: readonly RateDimension[] = ['tpm', 'rpm', 'tpd', 'rpd']
export const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000
const PPM = 1_000_000

export function isOfTokens(dimension: RateDimension): boolean {
  return dimension === 'tpm' || dimension === 'tpd'
}

export function isOfMinute(dimension: RateDimension): boolean {
  return dimension === 'tpm' || dimension === 'rpm'
}

/** The share of one instance in a model's capacity (SLOT-2). */
export function poolOf(input: {
  readonly limits: ModelLimits
  readonly used: Usage
  readonly instances: number
  readonly jobTypes: readonly JobEstimate[]
  readonly estimate: 'average' | 'max'
}): SlotPool {
  const { limits, used, instances, jobTypes, estimate } = input
  const slots: (number | null)[] = []
  const shares: Record<Dimension, number | null> = { ...NO_RATES, concurrency: null }
  const common: Record<RateDimension, number | null> = { ...NO_RATES }
  for (const dimension of RATE_DIMENSIONS) {
    const limit = limits[dimension]
    if (limit === null) continue
    const remaining = Math.max(0, limit - used[dimension])
    const share = Math.floor(remaining / instances)
    shares[dimension] = share
    common[dimension] = remaining - instances * share
    const estimates = jobTypes.map((type) => (isOfTokens(dimension) ? type.tokens : type.requests))
    slots.push(slotsIn(remaining, instances, estimates, estimate))
  }
  if (limits.maxConcurrency !== null) {
    shares.concurrency = Math.floor(limits.maxConcurrency / instances)
    slots.push(shares.concurrency)
  }
  return { shares, common, totalSlots: lowest(slots) }
}

/** How many jobs of a type may start in each window, and run at the same time (SLOT-4). */
export interface TypeSlots {
  readonly candidates: Readonly<Record<Dimension, number | null>>
  readonly slots: {
    readonly day: number | null
    readonly minute: number | null
    readonly concurrency: number | null
  }
  readonly winner: {
    readonly dimension: Dimension
    /** 0 for concurrency. */
    readonly windowMs: number
    readonly slots: number
  } | null
}

/** The order that decides ties: the longer window first, then tokens. */
const BY_WINDOW: readonly (readonly [Dimension, windowMs: number])[] = [
  ['tpd', DAY_MS],
  ['rpd', DAY_MS],
  ['tpm', MINUTE_MS],
  ['rpm', MINUTE_MS],
  ['concurrency', 0],
]

export function typeSlots(input: {
  readonly shares: Shares
  readonly totalSlots: number | null
  readonly ratioPpm: number
  readonly estimate: JobEstimate
  readonly minCapacity: number
}): TypeSlots {
  const { shares, totalSlots, ratioPpm, estimate, minCapacity } = input
  const candidates: Record<Dimension, number | null> = { ...NO_RATES, concurrency: null }
  for (const dimension of RATE_DIMENSIONS) {
    const each = isOfTokens(dimension) ? estimate.tokens : estimate.requests
    const share = shares[dimension]
    if (share !== null && each > 0) candidates[dimension] = partOf(share, ratioPpm, each)
  }
  if (totalSlots !== null) candidates.concurrency = partOf(totalSlots, ratioPpm, 1)

  const atLeast = (slots: number | null): number | null =>
    slots === null || totalSlots === 0 ? slots : Math.max(minCapacity, slots)
  let winner: TypeSlots['winner'] = null
  let best = Number.POSITIVE_INFINITY
  for (const [dimension, windowMs] of BY_WINDOW) {
    const candidate = candidates[dimension]
    if (candidate === null || candidate >= best) continue
    best = candidate
    winner = { dimension, windowMs, slots: atLeast(candidate) as number }
  }
  return {
    candidates,
    slots: {
      day: atLeast(lowest([candidates.tpd, candidates.rpd])),
      minute: atLeast(lowest([candidates.tpm, candidates.rpm])),
      concurrency: atLeast(candidates.concurrency),
    },
    winner,
  }
}

/** The inputs of the decision about a start beyond the slots of its own type. */
export interface BorrowInput {
  /** The sum of all the requested starts. */
  readonly estimate: JobEstimate
  /** True for windows in which the type has slots of its own left: there it borrows nothing. */
  readonly own: { readonly minute: boolean; readonly day: boolean }
  /** The rest of the instance's share in the current windows; null if there is no limit. */
  readonly left: Readonly<Record<RateDimension, number | null>>
  /** The part of that rest that the free slots of the other types need. */
  readonly kept: Usage
  readonly totalSlots: number | null
  /** The number of starts in flight, over all types. */
  readonly inFlight: number
}

/**
 * True if a type whose slots are all taken may use other capacity of the model (SLOT-18). A concurrency slot comes
 * back with the next release, so those of idle types are lent. A window gives nothing back, so only the rest of
 * its division is.
 */
export function mayBorrow(input: BorrowInput): boolean {
  const { estimate, own, left, kept, totalSlots, inFlight } = input
  if (totalSlots !== null && inFlight >= totalSlots) return false
  return RATE_DIMENSIONS.every((dimension) => {
    const rest = left[dimension]
    if (rest === null || own[isOfMinute(dimension) ? 'minute' : 'day']) return true
    return (isOfTokens(dimension) ? estimate.tokens : estimate.requests) <= rest - kept[dimension]
  })
}

const NO_RATES = { tpm: null, rpm: null, tpd: null, rpd: null } as const

/** `floor(remaining·k / (E·instances))`; null if no type uses the dimension. */
function slotsIn(
  remaining: number,
  instances: number,
  estimates: readonly number[],
  estimate: 'average' | 'max',
): number | null {
  const each = estimate === 'max' ? Math.max(0, ...estimates) : sum(estimates)
  if (each === 0) return null
  const jobs = estimate === 'max' ? remaining : times(remaining, estimates.length)
  return Number(floorDiv(jobs, times(each, instances)))
}

/** `floor(whole·ratio / each)`, exact: 100 at 290,000 ppm gives 29. */
function partOf(whole: number, ratioPpm: number, each: ExactInt): number {
  return Number(floorDiv(times(whole, ratioPpm), times(each, PPM)))
}

function lowest(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>((low, value) => {
    if (value === null) return low
    return low === null ? value : Number(least(low, value))
  }, null)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
