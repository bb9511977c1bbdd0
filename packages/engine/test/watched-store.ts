import type { Store } from '@fairlead/core'
import type { Log, LogEnd, StoreReads, Tables } from '@fairlead/core/internal'
import { TestClock } from '@fairlead/testkit'

/** A store that tells of each append, and whether it is at rest. */
export class WatchedStore implements Store {
  readonly log: Log
  readonly tables: Tables
  readonly read: StoreReads
  /** Called when a record is in the log, before the engine hears of it. */
  onAppend: () => void
  readonly #inner: Store
  readonly #underWay = new Set<Promise<unknown>>()
  /** Calls that began or ended. */
  #moves = 0

  constructor(inner: Store, onAppend: () => void) {
    this.#inner = inner
    this.onAppend = onAppend
    const { log, tables } = inner
    const reads = Object.entries(inner.read).map(([name, read]) => [
      name,
      (...args: never[]) => this.#watch((read as (...given: never[]) => Promise<unknown>)(...args)),
    ])
    this.read = Object.fromEntries(reads) as StoreReads
    this.log = {
      get end(): LogEnd {
        return log.end
      },
      append: (record) => this.#watch(log.append(record).then(() => this.onAppend())),
      read: (afterBatch) => log.read(afterBatch),
      trim: (upToBatch) => this.#watch(log.trim(upToBatch)),
      scrub: () => this.#watch(log.scrub()),
      close: () => log.close(),
    }
    this.tables = {
      read: this.read,
      load: () => this.#watch(tables.load()),
      keyPrints: (afterSeq, limit) => this.#watch(tables.keyPrints(afterSeq, limit)),
      apply: (rows, batch) => this.#watch(tables.apply(rows, batch)),
      sync: () => this.#watch(tables.sync()),
      scrub: () => this.#watch(tables.scrub()),
      close: () => tables.close(),
    }
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  /** Does something again and again, until meanwhile nothing was asked of the store or answered. */
  async rest(act: () => Promise<void>): Promise<void> {
    for (let seen = -1; seen !== this.#moves; ) {
      await Promise.allSettled(this.#underWay)
      seen = this.#moves
      await act()
    }
  }

  #watch<Value>(call: Promise<Value>): Promise<Value> {
    this.#moves++
    this.#underWay.add(call)
    const end = (): void => {
      this.#moves++
      this.#underWay.delete(call)
    }
    call.then(end, end)
    return call
  }
}

/** A clock for a store that takes real time, and for a test that acts when an engine is woken. */
export class WatchedClock extends TestClock {
  /** Whose calls are awaited before time goes on. */
  store: WatchedStore | null = null
  /** Called right before whoever is woken. */
  beforeWake: () => void = () => {}
  readonly #wakes = new Set<{ readonly at: number }>()

  /** When somebody wants to be woken next. */
  get nextWakeAt(): number {
    return Math.min(Number.POSITIVE_INFINITY, ...[...this.#wakes].map(({ at }) => at))
  }

  override wakeAt(at: number, wake: () => void): () => void {
    const entry = { at }
    this.#wakes.add(entry)
    const cancel = super.wakeAt(at, () => {
      this.#wakes.delete(entry)
      this.beforeWake()
      wake()
    })
    return () => {
      this.#wakes.delete(entry)
      cancel()
    }
  }

  override async settle(): Promise<void> {
    const settle = () => super.settle()
    await (this.store === null ? settle() : this.store.rest(settle))
  }
}
