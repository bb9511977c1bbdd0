import { type Lease, type Store, TransitMap, type WriteBatch } from '@fairlead/core'

/** Beyond this the cache is emptied: a job that waits that long can be read from the store. */
const BYTES_MAX = 8 * 1024 * 1024

/**
 * Payloads of jobs that were stored a moment ago: most are assigned at once, and their work need not be
 * read back. What is not in here comes from the store.
 */
export class PayloadCache {
  readonly #store: Store
  /** By number of acceptance. */
  readonly #payloads = new TransitMap<number, Uint8Array>()
  #bytes = 0

  constructor(store: Store) {
    this.#store = store
  }

  add(newJobs: WriteBatch['newJobs']): void {
    for (const { row, payload } of newJobs) {
      if (this.#bytes + payload.length > BYTES_MAX) this.#clear()
      this.#payloads.set(row.seq, payload)
      this.#bytes += payload.length
    }
  }

  /** The payload of a job for the one who does the work, if it is here. */
  take(seq: number): Uint8Array | undefined {
    const payload = this.#payloads.get(seq)
    if (payload === undefined) return undefined
    this.#payloads.delete(seq)
    this.#bytes -= payload.length
    return payload
  }

  /** The payloads of leases whose jobs are not here. */
  async read(leases: readonly Lease[]): Promise<Uint8Array[]> {
    const payloads = await this.#store.read.payloads(leases.map(({ job }) => job.enqueueSeq))
    return payloads.map((payload) => payload ?? new Uint8Array())
  }

  #clear(): void {
    this.#payloads.clear()
    this.#bytes = 0
  }
}
