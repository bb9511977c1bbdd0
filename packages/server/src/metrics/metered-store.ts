import type { Store, WriteBatch } from '@fairlead/core'

/** What is known of the writes of a store. */
export interface StoreHealth {
  /** Null while the last write was taken. */
  readonly failingSince: number | null
  /** When the write that has been under way the longest began; null while none is. */
  readonly pendingSince: number | null
}

/** Is told of every write. */
export type CommitListener = (commit: {
  readonly rows: number
  readonly ms: number
  readonly isTaken: boolean
}) => void

/**
 * A store that says how its writes go. Open the engine on it and give it to the server as well: then the
 * metrics have the size and time of commits, and `/readyz` fails when writes are refused.
 */
export class MeteredStore implements Store {
  readonly read: Store['read']
  readonly #store: Store
  #listener: CommitListener = () => {}
  #failingSince: number | null = null
  readonly #pending = new Set<{ readonly at: number }>()

  constructor(store: Store) {
    this.#store = store
    this.read = store.read
  }

  get health(): StoreHealth {
    const [oldest] = this.#pending
    return { failingSince: this.#failingSince, pendingSince: oldest?.at ?? null }
  }

  onCommit(listener: CommitListener): void {
    this.#listener = listener
  }

  load(): ReturnType<Store['load']> {
    return this.#store.load()
  }

  async commit(batch: WriteBatch): Promise<void> {
    const startedAt = performance.now()
    const pending = { at: startedAt }
    this.#pending.add(pending)
    let isTaken = false
    try {
      await this.#store.commit(batch)
      isTaken = true
      this.#failingSince = null
    } catch (error) {
      this.#failingSince ??= startedAt
      throw error
    } finally {
      this.#pending.delete(pending)
      this.#listener({ rows: rowsOf(batch), ms: performance.now() - startedAt, isTaken })
    }
  }

  close(): Promise<void> {
    return this.#store.close()
  }
}

function rowsOf(batch: WriteBatch): number {
  const { newJobs, jobs, newLeases, leases, providers, results, shares, rounds, journal } = batch
  const lists = [newJobs, jobs, newLeases, leases, providers, results, shares, rounds, journal]
  return lists.reduce((sum, { length }) => sum + length, 0)
}
