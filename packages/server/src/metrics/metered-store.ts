import type { Store } from '@fairlead/core'
import type { WriteBatch } from '@fairlead/core/internal'

/** What is known of the writes of a store. */
export interface StoreHealth {
  /** When writes began to be refused; null while they are taken. */
  readonly failingSince: number | null
  /** When the write that has been under way the longest began; null while none is. */
  readonly pendingSince: number | null
}

/** Is told of every write. */
export type CommitListener = (commit: {
  readonly rows: number
  readonly ms: number
  readonly isTaken: boolean
  /** Why it was not. */
  readonly cause?: unknown
  /** Whether with it writes began to be refused, or are taken again. */
  readonly isTurn: boolean
}) => void

/**
 * A sign of life has no rows, and may fit where nothing else does: it does not tell for so long after a refusal
 * that writes are taken again. Then it does, because without traffic there is nothing else that could.
 */
const DOUBT_MS = 10_000

/**
 * A store that says how its writes go. Open the engine on it and give it to the server as well: then the
 * metrics have the size and time of commits, and `/readyz` fails when writes are refused.
 */
export class MeteredStore implements Store {
  readonly read: Store['read']
  readonly #store: Store
  #listener: CommitListener = () => {}
  #failingSince: number | null = null
  #refusedAt = 0
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
    try {
      await this.#store.commit(batch)
    } catch (cause) {
      this.#pending.delete(pending)
      const isTurn = this.#failingSince === null
      this.#failingSince ??= startedAt
      this.#refusedAt = performance.now()
      const ms = this.#refusedAt - startedAt
      this.#listener({ rows: rowsOf(batch), ms, isTaken: false, cause, isTurn })
      throw cause
    }
    this.#pending.delete(pending)
    const now = performance.now()
    const rows = rowsOf(batch)
    const isTurn = this.#failingSince !== null && (rows > 0 || now - this.#refusedAt > DOUBT_MS)
    if (isTurn) this.#failingSince = null
    this.#listener({ rows, ms: now - startedAt, isTaken: true, isTurn })
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
