import type { Job, Lease } from '@fairlead/core'
import { isUnreadable, type StoreReads, TransitMap } from '@fairlead/core/internal'

/** The limit of the cache. The payload of a job that far back in the queue can be read from the store later. */
const BYTES_MAX = 8 * 1024 * 1024

/**
 * Payloads of jobs that were stored a moment ago. Most jobs are assigned at once, and then their payload need not
 * be read back. Other payloads come from the store. An entry stays until its job is offered or has ended.
 */
export class PayloadCache {
  readonly #tables: Pick<StoreReads, 'payloads'>
  readonly #upToDate: Pick<StoreReads, 'payloads'>
  /** By number of acceptance. */
  readonly #payloads = new TransitMap<number, Uint8Array>()
  #bytes = 0

  /** `tables` may lack the newest jobs; `upToDate` first waits until they are there. */
  constructor(tables: Pick<StoreReads, 'payloads'>, upToDate: Pick<StoreReads, 'payloads'>) {
    this.#tables = tables
    this.#upToDate = upToDate
  }

  add(seq: number, payload: Uint8Array): void {
    if (this.#bytes + payload.length > BYTES_MAX) return
    this.#payloads.set(seq, payload)
    this.#bytes += payload.length
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
    const seqs = leases.map(({ job }) => job.enqueueSeq)
    let payloads = await this.#tables.payloads(seqs)
    if (payloads.includes(null)) payloads = await this.#upToDate.payloads(seqs)
    return payloads.map((payload) => {
      if (payload === null) return new Uint8Array()
      return isUnreadable(payload) ? null : payload
    })
  }

  /** Drops all payloads. Those of a discarded batch had numbers that other jobs will get. */
  clear(): void {
    this.#payloads.clear()
    this.#bytes = 0
  }

  /** Drops the payloads of ended jobs. */
  forget(ended: readonly Job[]): void {
    for (const { enqueueSeq } of ended) this.take(enqueueSeq)
  }
}
