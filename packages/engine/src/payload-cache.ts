import type { JobId, Store, WriteBatch } from '@fairlead/core'

/** Beyond this the cache is emptied: a job that waits that long can be read from the store. */
const BYTES_MAX = 8 * 1024 * 1024

/**
 * Payloads of jobs that were stored a moment ago: most are assigned at once, and their work need not be
 * read back. What is not in here comes from the store.
 */
export class PayloadCache {
  readonly #store: Store
  readonly #payloads = new Map<JobId, Uint8Array>()
  #bytes = 0

  constructor(store: Store) {
    this.#store = store
  }

  add(newJobs: WriteBatch['newJobs']): void {
    for (const { row, payload } of newJobs) {
      if (this.#bytes + payload.length > BYTES_MAX) this.#clear()
      this.#payloads.set(row.id, payload)
      this.#bytes += payload.length
    }
  }

  /** The payload, for the one who does the work. */
  take(id: JobId): Uint8Array {
    const payload = this.#payloads.get(id)
    if (payload === undefined) return this.#store.read.payload(id) ?? new Uint8Array()
    this.#payloads.delete(id)
    this.#bytes -= payload.length
    return payload
  }

  #clear(): void {
    this.#payloads.clear()
    this.#bytes = 0
  }
}
