import type { KnownJob } from './command.ts'
import { KeyFilter } from './key-filter.ts'

/**
 * Jobs by their callers' keys, from enqueue until a read of the tables is sure to find them. This is not part of the
 * state: a command that reaches the state is always new.
 */
export class KnownKeys {
  /** Has these keys, and those of the tables. */
  readonly filter = new KeyFilter()
  readonly #jobs = new Map<string, KnownJob>()
  /** The keys of the open batch. */
  #open: string[] = []
  /** Those of batches that the tables do not have yet, oldest first. */
  #handed: { readonly batch: number; readonly keys: readonly string[] }[] = []
  #applied: string[] = []

  get(key: string): KnownJob | undefined {
    return this.#jobs.get(key)
  }

  /** True if only the tables can tell if there is a job of this key. */
  mustLookUp(key: string): boolean {
    return !this.#jobs.has(key) && this.filter.mayHave(key)
  }

  add(key: string, job: KnownJob): void {
    this.#jobs.set(key, job)
    this.filter.add(key)
    this.#open.push(key)
  }

  /** The open batch was handed to the log under this number. */
  handed(batch: number): void {
    if (this.#open.length === 0) return
    this.#handed.push({ batch, keys: this.#open })
    this.#open = []
  }

  /** The tables have everything up to this batch. */
  applied(batch: number): void {
    while (this.#handed[0] !== undefined && this.#handed[0].batch <= batch) {
      this.#applied.push(...(this.#handed.shift()?.keys ?? []))
    }
  }

  /** Call this before a look-up of keys in the tables: they have all keys that were marked until then. */
  forgetApplied(): void {
    for (const key of this.#applied) this.#jobs.delete(key)
    this.#applied = []
  }

  /** The open batch was discarded. */
  dropOpen(): void {
    for (const key of this.#open) this.#jobs.delete(key)
    this.#open = []
  }
}
