import type { KnownJob } from './command.ts'

/**
 * Jobs by the keys of their callers, from their enqueue until the store is sure to know them. It is no part of the
 * state: a command that reaches the state is new.
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

  /** The keys that came in since the last call: those of one batch. */
  takeAdded(): readonly string[] {
    const added = this.#added
    this.#added = []
    return added
  }

  /** The batch of these is stored. */
  stored(keys: readonly string[]): void {
    this.#stored.push(...keys)
  }

  /** To be called before the store is asked for keys: it knows all that were stored by then. */
  forgetStored(): void {
    for (const key of this.#stored) this.#jobs.delete(key)
    this.#stored = []
  }
}
