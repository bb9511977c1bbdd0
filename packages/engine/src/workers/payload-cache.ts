import type { Job, Lease, Store } from '@fairlead/core'
import { isUnreadable, TransitMap, type WriteBatch } from '@fairlead/core/internal'

/** The limit of the cache. The payload of a job that far back in the queue can be read from the store later. */
const BYTES_MAX = 8 * 1024 * 1024

/**
 * Payloads of jobs that were stored a moment ago. Most jobs are assigned at once, and then their payload need not
 * be read back. Other payloads come from the store. An entry stays until its job is offered or has ended.
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
      if (this.#bytes + payload.length > BYTES_MAX) continue
      this.#payloads.set(row.seq, payload)
      this.#bytes += payload.length
    }
  }

  /** Removes and returns the payload of a job, if it is cached. */
  take(seq: number): Uint8Array | undefined {
    const payload = this.#payloads.get(seq)
    if (payload === undefined) return undefined
    this.#payloads.delete(seq)
    this.#bytes -= payload.length
    return payload
  }

  /** Reads payloads from the store; null for one that cannot be decrypted (FILES-4). */
  async read(leases: readonly Lease[]): Promise<(Uint8Array | null)[]> {
    const payloads = await this.#store.read.payloads(leases.map(({ job }) => job.enqueueSeq))
    return payloads.map((payload) => {
      if (payload === null) return new Uint8Array()
      return isUnreadable(payload) ? null : payload
    })
  }

  /** Drops the payloads of ended jobs. */
  forget(ended: readonly Job[]): void {
    for (const { enqueueSeq } of ended) this.take(enqueueSeq)
  }
}
