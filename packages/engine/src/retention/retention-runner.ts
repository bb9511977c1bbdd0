import type { Clock, JobRow, Policy } from '@fairlead/core'
import { retentionSecs, type StoreReads, shorterRetentions } from '@fairlead/core/internal'
import type { EngineLoop } from '../loop/engine-loop.ts'

/** How often ended jobs are looked at. */
const EVERY_MS = 60_000
/** How soon it goes on with more of them. */
const SOON_MS = 1_000
/** Jobs in one command. */
const STEP = 250
/** Steps for each retention at a time. */
const STEPS_MAX = 20

/** A place in the order of ends and numbers. */
interface Place {
  readonly at: number
  readonly seq: number
}

const START: Place = { at: 0, seq: 0 }

/**
 * Deletes ended jobs whose retention is shorter than the longest one (TTL-5), by commands that name them. For each
 * retention it goes once through the ended jobs in the order of their ends, as far as that retention reaches, and
 * leaves those that are kept for longer. After a restart or a change of the policy it begins anew. Where all jobs have
 * one retention it does nothing.
 */
export class RetentionRunner {
  readonly #loop: EngineLoop
  readonly #read: StoreReads
  readonly #clock: Clock
  #policy: Policy | null = null
  /** By retention. */
  #places = new Map<number, Place>()
  #isBusy = false
  #isClosed = false
  #cancelWake: () => void = () => {}

  constructor(parts: {
    readonly loop: EngineLoop
    /** Reads that see everything that was answered before. */
    readonly read: StoreReads
    readonly clock: Clock
  }) {
    this.#loop = parts.loop
    this.#read = parts.read
    this.#clock = parts.clock
  }

  /** To be called after each batch: the policy may have changed. */
  look(): void {
    const { policy } = this.#loop.state.market
    if (policy === this.#policy) return
    this.#policy = policy
    this.#places = new Map(shorterRetentions(policy).map((secs) => [secs, START]))
    this.#wakeIn(SOON_MS)
  }

  close(): void {
    this.#isClosed = true
    this.#cancelWake()
  }

  #wakeIn(ms: number): void {
    this.#cancelWake()
    if (this.#places.size === 0 || this.#isClosed) return
    this.#cancelWake = this.#clock.wakeAt(this.#clock.now() + ms, () => void this.#run())
  }

  async #run(): Promise<void> {
    if (this.#isBusy) return this.#wakeIn(SOON_MS)
    this.#isBusy = true
    try {
      let isMore = false
      for (const secs of this.#places.keys()) isMore = (await this.#delete(secs)) || isMore
      this.#wakeIn(isMore ? SOON_MS : EVERY_MS)
    } catch {
      // The store is away: it goes on from the same place.
      this.#wakeIn(EVERY_MS)
    } finally {
      this.#isBusy = false
    }
  }

  /** True if there is more to do for this retention. */
  async #delete(secs: number): Promise<boolean> {
    const places = this.#places
    for (let step = 0; step < STEPS_MAX; step++) {
      const { nowMs, policy } = this.#loop.state.market
      const after = places.get(secs) ?? START
      const before = nowMs - 1_000 * secs
      const rows = await this.#read.jobs({ ended: { after, before }, afterSeq: 0, limit: STEP })
      const last = rows.at(-1)
      if (last === undefined) return false
      const seqs = rows.filter((row) => isOver(row, nowMs, policy)).map(({ seq }) => seq)
      if (seqs.length > 0) {
        await this.#loop.submit({ type: 'forgetJobs', seqs, endedBefore: before })
      }
      places.set(secs, { at: last.endedAt ?? 0, seq: last.seq })
      if (rows.length < STEP) return false
    }
    return true
  }
}

function isOver(row: JobRow, nowMs: number, policy: Policy): boolean {
  return row.endedAt !== null && row.endedAt < nowMs - 1_000 * retentionSecs(row, policy)
}
