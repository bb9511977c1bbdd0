import type { Job, Lease, Store } from '@fairlead/core'
import { isUnreadable, TransitMap, type WriteBatch } from '@fairlead/core/internal'

/** Beyond this no more are kept: a job behind so many others can be read from the store when its turn comes. */
const BYTES_MAX = 8 * 1024 * 1024

/**
 * Payloads of jobs that were stored a moment ago: most are assigned at once, and their work need not be
 * read back. What is not in here comes from the store. Each stays until its job is offered or has ended.
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

  /** The payload of a job for the one who does the work, if it is here. */
  take(seq: number): Uint8Array | undefined {
    const payload = this.#payloads.get(seq)
    if (payload === undefined) return undefined
    this.#payloads.delete(seq)
    this.#bytes -= payload.length
    return payload
  }

  /** The payloads of leases whose jobs are not here; null for one that cannot be opened (FILES-4). */
  async read(leases: readonly Lease[]): Promise<(Uint8Array | null)[]> {
    const payloads = await this.#store.read.payloads(leases.map(({ job }) => job.enqueueSeq))
    return payloads.map((payload) => {
      if (payload === null) return new Uint8Array()
      return isUnreadable(payload) ? null : payload
    })
  }

  /** Of jobs that have ended: nobody will do their work. */
  forget(ended: readonly Job[]): void {
    for (const { enqueueSeq } of ended) this.take(enqueueSeq)
  }
}
