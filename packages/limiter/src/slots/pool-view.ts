import {
  DAY_MS,
  type Dimension,
  isOfMinute,
  isOfTokens,
  type JobEstimate,
  MINUTE_MS,
  type ModelLimits,
  type PoolStart,
  poolOf,
  RATE_DIMENSIONS,
  type RateDimension,
  type SlotPool,
} from '@fairlead/core/limits'

/** What remained of a model for each instance, as all of them were told it (SLOT-15). */
export interface Allocation {
  /** Of the shared state: another one has forgotten what was before. */
  readonly birth: string
  readonly version: number
  readonly instances: number
  /** The windows that the shares are of. */
  readonly minute: number
  readonly day: number
  readonly parts: Readonly<Record<Dimension, Part | null>>
}

export interface Part {
  readonly limit: number
  readonly share: number
  /** What the division leaves over. */
  readonly common: number
}

/** What a dimension gives this instance in the current window. */
interface Room {
  readonly dimension: RateDimension
  /** What it had started itself up to the version, and its share. */
  readonly limit: number
  readonly share: number
  readonly common: number
  /** Of the share, less what it has started since. */
  readonly left: number
  /** Of all instances together, as far as known. */
  readonly remaining: number
}

/**
 * How one instance sees a model: the allocation that it knows, and what it has itself started before that
 * and since. An allocation says what remained, so what was started up to its version is added to a share to get
 * the instance's limit in a window (SLOT-6).
 */
export class PoolView {
  readonly #estimates: readonly JobEstimate[]
  readonly #estimate: 'average' | 'max'
  #allocation: Allocation | null = null
  /** Started up to the version of the allocation. */
  readonly #before = new StartSums()
  /** And since; in order of their versions. */
  #since: { readonly version: number; readonly start: PoolStart }[] = []

  constructor(options: {
    readonly estimates: readonly JobEstimate[]
    readonly estimate: 'average' | 'max'
  }) {
    this.#estimates = options.estimates
    this.#estimate = options.estimate
  }

  get allocation(): Allocation | null {
    return this.#allocation
  }

  /** Whether it is news. */
  learn(next: Allocation): boolean {
    const known = this.#allocation
    const isReborn = known !== null && known.birth !== next.birth
    if (known !== null && !isReborn && next.version <= known.version) return false
    this.#allocation = next
    this.#toldUpTo(isReborn ? Number.POSITIVE_INFINITY : next.version)
    return true
  }

  /** Begins anew from a state that has heard of all that was started up to now. */
  adopt(next: Allocation): void {
    this.#allocation = next
    this.#toldUpTo(Number.POSITIVE_INFINITY)
  }

  /** Counts a start that the shared state has with this version. */
  started(start: PoolStart, version: number): void {
    if (version <= (this.#allocation?.version ?? -1)) this.#before.add(start)
    else this.#since.push({ version, start })
  }

  /** This instance's part; nothing while it knows of none. */
  pool(nowMs: number): SlotPool {
    const allocation = this.#allocation
    if (allocation === null) return NOTHING
    const limits: Record<RateDimension, number | null> = {
      tpm: null,
      rpm: null,
      tpd: null,
      rpd: null,
    }
    const common: Record<RateDimension, number | null> = { ...limits }
    for (const room of this.#rooms(nowMs)) {
      limits[room.dimension] = room.limit
      common[room.dimension] = room.common
    }
    const pool = poolOf({
      limits: { ...limits, maxConcurrency: allocation.parts.concurrency?.share ?? null },
      used: NO_USAGE,
      instances: 1,
      jobTypes: this.#estimates,
      estimate: this.#estimate,
    })
    return { ...pool, common }
  }

  /**
   * This instance's share of what remained when the instances were told, and what remained for all of them; null while
   * none is known. What it has started since is in the next version.
   */
  told(nowMs: number): {
    readonly instances: number
    readonly pool: SlotPool
    readonly remaining: ModelLimits
  } | null {
    const allocation = this.#allocation
    if (allocation === null) return null
    const { instances, parts } = allocation
    const rates: Record<RateDimension, number | null> = { ...NO_RATES }
    for (const { dimension, share, common } of this.#rooms(nowMs)) {
      rates[dimension] = instances * share + common
    }
    const remaining = { ...rates, maxConcurrency: parts.concurrency?.limit ?? null }
    const pool = poolOf({
      ...{ limits: remaining, used: NO_USAGE, instances },
      ...{ jobTypes: this.#estimates, estimate: this.#estimate },
    })
    return { instances, pool, remaining }
  }

  /** What is left of this instance's part in the current windows; null where there is no limit. */
  left(nowMs: number): Readonly<Record<RateDimension, number | null>> {
    const left: Record<RateDimension, number | null> = { ...NO_RATES }
    for (const room of this.#rooms(nowMs)) left[room.dimension] = room.left
    return left
  }

  /** False if a job is larger than what the model allows, so that it can never start. */
  canEverFit(estimate: JobEstimate): boolean {
    const { parts } = this.#allocation ?? {}
    return RATE_DIMENSIONS.every((dimension) => {
      const limit = parts?.[dimension]?.limit
      const amount = isOfTokens(dimension) ? estimate.tokens : estimate.requests
      return limit === undefined || amount <= limit
    })
  }

  /** False if the shared acquire would refuse it by what is known: then there is no need to ask. */
  mayFit(estimate: JobEstimate, nowMs: number): boolean {
    return this.#rooms(nowMs).every((room) => amountOf(estimate, room) <= room.remaining)
  }

  /**
   * Whether a job that this instance's share has no room for may be asked for all the same: where it does not
   * fit, the division has left something over, or has made shares that are too small for one (SLOT-3).
   */
  mayTakeCommon(estimate: JobEstimate, inFlight: number, nowMs: number): boolean {
    const concurrency = this.#allocation?.parts.concurrency ?? null
    const short = this.#rooms(nowMs).filter((room) => amountOf(estimate, room) > room.left)
    const isFull = concurrency !== null && inFlight >= concurrency.share
    if (isFull && inFlight >= concurrency.share + concurrency.common) return false
    return (
      (isFull || short.length > 0) &&
      short.every((room) => room.common > 0 || room.share < amountOf(estimate, room))
    )
  }

  #toldUpTo(last: number): void {
    for (const { version, start } of this.#since) if (version <= last) this.#before.add(start)
    this.#since = this.#since.filter(({ version }) => version > last)
  }

  #rooms(nowMs: number): Room[] {
    const allocation = this.#allocation
    if (allocation === null) return []
    const minute = Math.max(allocation.minute, Math.floor(nowMs / MINUTE_MS))
    const day = Math.max(allocation.day, Math.floor(nowMs / DAY_MS))
    const since = new StartSums()
    for (const { start } of this.#since) since.add(start)
    const rooms: Room[] = []
    for (const dimension of RATE_DIMENSIONS) {
      const part = allocation.parts[dimension]
      if (part === null) continue
      const isCurrent = isOfMinute(dimension)
        ? allocation.minute === minute
        : allocation.day === day
      const { share, common } = isCurrent ? part : fullPart(part.limit, allocation.instances)
      const before = this.#before.of(dimension, minute, day)
      const later = since.of(dimension, minute, day)
      rooms.push({
        dimension,
        limit: before + share,
        share,
        common,
        left: share - later,
        remaining: share * allocation.instances + common - later,
      })
    }
    return rooms
  }
}

/** As it is when nothing was used: of a window that has just begun, or without the others' word. */
export function wholeAllocation(
  limits: ModelLimits,
  known: { readonly birth: string; readonly version: number; readonly instances: number },
): Allocation {
  const part = (limit: number | null): Part | null =>
    limit === null ? null : { limit, ...fullPart(limit, known.instances) }
  const { tpm, rpm, tpd, rpd, maxConcurrency } = limits
  const rates = { tpm: part(tpm), rpm: part(rpm), tpd: part(tpd), rpd: part(rpd) }
  const parts = { ...rates, concurrency: part(maxConcurrency) }
  return { ...known, minute: 0, day: 0, parts }
}

export function limitsOf({ parts }: Allocation): ModelLimits {
  const { tpm, rpm, tpd, rpd, concurrency } = parts
  return {
    tpm: tpm?.limit ?? null,
    rpm: rpm?.limit ?? null,
    tpd: tpd?.limit ?? null,
    rpd: rpd?.limit ?? null,
    maxConcurrency: concurrency?.limit ?? null,
  }
}

const NO_USAGE = { tpm: 0, rpm: 0, tpd: 0, rpd: 0 } as const
const NO_RATES = { tpm: null, rpm: null, tpd: null, rpd: null } as const
const NOTHING: SlotPool = {
  shares: { ...NO_RATES, concurrency: null },
  common: NO_RATES,
  totalSlots: 0,
}

function fullPart(limit: number, instances: number): { share: number; common: number } {
  const share = Math.floor(limit / instances)
  return { share, common: limit - instances * share }
}

function amountOf({ tokens, requests }: JobEstimate, { dimension }: Room): number {
  return isOfTokens(dimension) ? tokens : requests
}

/** What was started in the latest minute and the latest day. */
class StartSums {
  #minute = -1
  #ofMinute: JobEstimate = NO_JOB
  #day = -1
  #ofDay: JobEstimate = NO_JOB

  add({ estimate, minute, day }: PoolStart): void {
    if (minute > this.#minute) {
      this.#minute = minute
      this.#ofMinute = NO_JOB
    }
    if (day > this.#day) {
      this.#day = day
      this.#ofDay = NO_JOB
    }
    if (minute === this.#minute) this.#ofMinute = sumOf(this.#ofMinute, estimate)
    if (day === this.#day) this.#ofDay = sumOf(this.#ofDay, estimate)
  }

  of(dimension: RateDimension, minute: number, day: number): number {
    const ofMinute = isOfMinute(dimension)
    if (ofMinute ? minute !== this.#minute : day !== this.#day) return 0
    const { tokens, requests } = ofMinute ? this.#ofMinute : this.#ofDay
    return isOfTokens(dimension) ? tokens : requests
  }
}

const NO_JOB: JobEstimate = { tokens: 0, requests: 0 }

function sumOf(a: JobEstimate, b: JobEstimate): JobEstimate {
  return { tokens: a.tokens + b.tokens, requests: a.requests + b.requests }
}
