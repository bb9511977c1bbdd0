import { compareAscii } from '../encoding/bytes.ts'
import { pairHash, type Seed } from '../encoding/ids.ts'
import type { KindName } from '../enqueue/kinds.ts'
import type { QueuedJob } from '../order/queued-job.ts'
import type { Verdict } from '../order/waiting-queue.ts'
import { leaseCap, type Provider } from '../registry/provider.ts'
import {
  isCallerDenied,
  jobRefusal,
  type Load,
  loadOf,
  type Refusal,
  type Terms,
} from './eligibility.ts'
import type { ProviderPool } from './provider-pool.ts'
import { SeededShuffle } from './seeded-shuffle.ts'

export interface Assignment {
  readonly job: QueuedJob
  readonly provider: Provider
}

/**
 * The providers of one kind in one round: which of them fit a job, the order of asking, and their load as the
 * round goes on.
 *
 * No capacity is freed within a round, so a provider that has refused a job refuses every similar later job. Known
 * refusals are skipped: full providers for all jobs, others for jobs of the same scope and units. So similar jobs
 * cost O(jobs + providers touched) (MATCH-6).
 */
export class ProviderSearch {
  readonly shuffle: SeededShuffle<Provider>
  readonly #kind: KindName
  readonly #terms: Terms
  readonly #pool: ProviderPool
  readonly #passing: readonly Provider[]
  readonly #byCaller: boolean
  readonly #seed: Seed
  /** Leases given in this round, over all kinds. */
  readonly #given: Map<Provider, number>
  readonly #loads = new Map<Provider, Load>()
  readonly #open: Provider[] = []
  #opened = 0
  #full = new Skips()
  #refused = new Alike(() => new Skips())

  constructor(input: {
    readonly kind: KindName
    readonly terms: Terms
    readonly pool: ProviderPool
    readonly seed: Seed
    readonly given: Map<Provider, number>
  }) {
    this.#kind = input.kind
    this.#terms = input.terms
    this.#pool = input.pool
    this.#seed = input.seed
    this.#given = input.given
    this.#passing = input.pool.passing(input.kind, input.terms.nowMs)
    this.#byCaller = input.pool.listsCallers || input.terms.admit?.isByCaller === true
    this.shuffle = new SeededShuffle(this.#passing, input.seed)
  }

  /** Returns a function that says whether any provider could take a job now (MATCH-2). */
  verdicts(): (job: QueuedJob) => Verdict {
    const known = new Alike<{ verdict: Verdict | null }>(() => ({ verdict: null }))
    return (job) => {
      if (this.#isCallerOut(job)) return 'pass-group'
      // Needs of limits and denials belong to the single job, so its verdict is not cached.
      if (job.denials !== null || this.#terms.admit?.concerns(job)) return this.#verdict(job)
      const alike = known.of(job, this.#byCaller)
      alike.verdict ??= this.#verdict(job)
      return alike.verdict
    }
  }

  /** The number of leases that can still be given. Counting stops at `most`. */
  freeLeases(most: number): number {
    let free = 0
    for (let i = 0; free < most; i++) {
      const provider = this.#openAt(i)
      if (provider === undefined) break
      free += leaseCap(provider, this.#terms.policy) - this.#load(provider).leases
    }
    return Math.min(free, most)
  }

  /** The first index at or after `start` in the shuffled order whose provider fits; else −1. */
  findFrom(start: number, job: QueuedJob): number {
    if (this.#isCallerOut(job) || this.#terms.admit?.isHeldEverywhere(job)) return -1
    const refused = this.#refused.of(job, this.#byCaller)
    const end = this.shuffle.length
    let index = start
    while (index < end) {
      const open = this.#full.next(index)
      index = refused.next(open)
      if (index !== open) continue
      if (index >= end) break
      const refusal = this.#refusal(this.shuffle.at(index), job)
      if (refusal === null) return index
      if (refusal === 'lease_cap_reached') this.#full.add(index)
      else if (!OWN_REFUSALS.has(refusal)) refused.add(index)
      index++
    }
    return -1
  }

  /**
   * No provider takes the job. If only limits are in its way, it claims those that it waits for. False if one of
   * them is too small for it in any case, which says nothing about other jobs (ADMIT-4).
   */
  claim(job: QueuedJob): boolean {
    const { admit } = this.#terms
    if (admit === null || !admit.concerns(job)) return true
    let isFit = true
    for (const provider of this.#passing) {
      if (this.#refusal(provider, job) !== 'limit_exhausted') continue
      const hold = admit.hold(job, provider.id)
      if (hold?.reason === 'too_large') isFit = false
      else if (hold !== null) admit.claim(job, hold)
      if (!admit.isByProvider(job)) break
    }
    return isFit
  }

  /** Books an assignment, or takes it back. */
  book({ job, provider }: Assignment, by: 1 | -1): void {
    const load = this.#load(provider)
    load.leases += by
    load.units += by * job.units
    this.#given.set(provider, (this.#given.get(provider) ?? 0) + by)
    this.#terms.admit?.promise(job, provider.id, by)
  }

  /** After assignments were taken back, the refusals found since are no longer certain. */
  forget(): void {
    this.#full = new Skips()
    this.#refused = new Alike(() => new Skips())
  }

  /** Providers by `stake·health`, highest first. Providers with equal products form one group (MATCH-9). */
  ranked(): readonly (readonly Provider[])[] {
    const rows = this.#passing.map((provider) => ({
      provider,
      rank: provider.stake * BigInt(provider.health),
    }))
    // The list is in order of id and the sort is stable, so equal providers stay in order of id.
    rows.sort((a, b) => (a.rank > b.rank ? -1 : a.rank < b.rank ? 1 : 0))
    const classes: Provider[][] = []
    let last: bigint | null = null
    for (const { provider, rank } of rows) {
      if (rank === last) classes.at(-1)?.push(provider)
      else classes.push([provider])
      last = rank
    }
    return classes
  }

  /** All pairs that fit now, the smallest pair hash first (MATCH-8). */
  pairsByHash(jobs: Iterable<QueuedJob>, providers: readonly Provider[]): readonly Assignment[] {
    const pairs: { readonly pair: Assignment; readonly hash: string }[] = []
    for (const provider of providers) {
      // A full provider refuses all jobs, and in a contested tie most providers are full.
      if (this.#load(provider).leases >= leaseCap(provider, this.#terms.policy)) continue
      for (const job of jobs) {
        if (this.#refusal(provider, job) !== null) continue
        pairs.push({ pair: { job, provider }, hash: pairHash(job.id, provider.id, this.#seed) })
      }
    }
    return pairs.sort((a, b) => compareAscii(a.hash, b.hash)).map(({ pair }) => pair)
  }

  fits({ job, provider }: Assignment): boolean {
    return this.#refusal(provider, job) === null
  }

  #refusal(provider: Provider, job: QueuedJob): Refusal | null {
    return jobRefusal(provider, this.#load(provider), job, this.#terms)
  }

  /** A caller over its window, or denied by policy, fits no provider, so none is asked. */
  #isCallerOut({ caller }: QueuedJob): boolean {
    return this.#terms.isWindowFull(caller) || isCallerDenied(caller, this.#terms.policy)
  }

  #verdict(job: QueuedJob): Verdict {
    if (!this.#pool.isOffered(this.#kind, job.shape.model)) return 'pass-group'
    let isDenied = false
    let isTooLarge = false
    let isLimited = false
    for (let i = 0; ; i++) {
      const provider = this.#openAt(i)
      if (provider === undefined) break
      const refusal = this.#refusal(provider, job)
      if (refusal === null) return 'take'
      isDenied ||= refusal === 'denied_for_job'
      isTooLarge ||= refusal === 'epoch_units_exhausted'
      isLimited ||= refusal === 'limit_exhausted'
    }
    if (isLimited && !this.claim(job)) return 'pass-job'
    return isDenied ? 'pass-job' : isTooLarge ? 'pass-size' : 'pass-group'
  }

  /**
   * The i-th provider that had a lease to give when the batch was built, in order of id. It only matters that some
   * provider fits, not which one, so no shuffle is needed.
   */
  #openAt(i: number): Provider | undefined {
    while (this.#open.length <= i && this.#opened < this.#passing.length) {
      const provider = this.#passing[this.#opened++] as Provider
      const leases = provider.liveLeases + (this.#given.get(provider) ?? 0)
      if (leases < leaseCap(provider, this.#terms.policy)) this.#open.push(provider)
    }
    return this.#open[i]
  }

  #load(provider: Provider): Load {
    let load = this.#loads.get(provider)
    if (load === undefined) {
      load = loadOf(provider, this.#kind, this.#terms.epoch)
      load.leases += this.#given.get(provider) ?? 0
      this.#loads.set(provider, load)
    }
    return load
  }
}

/** Refusals of one job that need not hold for the next similar job. */
const OWN_REFUSALS: ReadonlySet<Refusal> = new Set(['denied_for_job', 'limit_exhausted'])

/** One value for all jobs that the same providers refuse, apart from denials: jobs of equal demand and size. */
export class Alike<T> {
  readonly #make: () => T
  readonly #byDemand = new Map<string, Map<number, T>>()

  constructor(make: () => T) {
    this.#make = make
  }

  of({ shape, units }: QueuedJob, byCaller: boolean): T {
    const demand = byCaller ? shape.caller + shape.demandKey : shape.demandKey
    let byUnits = this.#byDemand.get(demand)
    if (byUnits === undefined) {
      byUnits = new Map()
      this.#byDemand.set(demand, byUnits)
    }
    let found = byUnits.get(units)
    if (found === undefined) {
      found = this.#make()
      byUnits.set(units, found)
    }
    return found
  }
}

/** Indexes to skip: union-find on the next index that must be checked. */
class Skips {
  readonly #next = new Map<number, number>()

  add(index: number): void {
    this.#next.set(index, index + 1)
  }

  /** The first index at or after this one that was not added. */
  next(index: number): number {
    let end = index
    for (let to = this.#next.get(end); to !== undefined; to = this.#next.get(end)) end = to
    for (let at = index; at !== end; ) {
      const to = this.#next.get(at) as number
      this.#next.set(at, end)
      at = to
    }
    return end
  }
}
