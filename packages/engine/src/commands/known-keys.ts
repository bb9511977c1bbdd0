import type { KnownJob } from './command.ts'

/**
 * Jobs by their callers' keys, from enqueue until a read of the store is sure to find them. This is not part of
 * the state: a command that reaches the state is always new.
 */
export class KnownKeys {
  readonly #jobs = new Map<string, KnownJob>()
  #added: string[] = []
  #stored: string[] = []

  get(key: string): KnownJob | undefined {
    return this.#jobs.get(key)
  }

  add(key: string, job: KnownJob): void {
    this.#jobs.set(key, job)
    this.#added.push(key)
  }

  /** Takes the keys that were added since the last call, which are those of one batch. */
  takeAdded(): readonly string[] {
    const added = this.#added
    this.#added = []
    return added
  }

  /** Marks the keys of a batch that is now stored. */
  stored(keys: readonly string[]): void {
    this.#stored.push(...keys)
  }

  /** Call this before a lookup of keys in the store: the store finds all keys that were marked until then. */
  forgetStored(): void {
    for (const key of this.#stored) this.#jobs.delete(key)
    this.#stored = []
  }
}
