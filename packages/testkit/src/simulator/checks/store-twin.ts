import type { JobId } from '@fairlead/core'
import type { SettlementHead, WriteBatch } from '@fairlead/core/internal'
import { MemoryTables } from '@fairlead/store/memory'
import type { SimDisk } from '../store/sim-disk.ts'
import { broken } from '../violation.ts'
import { firstDifference } from './first-difference.ts'

/**
 * The tables of a real store, which get all that has happened and must end up with the same rows: the simulated ones
 * say on their own what is deleted when (STORE-5 to STORE-10).
 */
export class StoreTwin {
  readonly #tables = new MemoryTables()
  readonly #caught: (error: unknown) => void
  /** Jobs that may be gone by now, with results that may not. */
  readonly #everStored = new Set<JobId>()
  #batch = 0

  constructor(caught: (error: unknown) => void) {
    this.#caught = caught
  }

  written(rows: WriteBatch): void {
    for (const { row } of rows.newJobs) this.#everStored.add(row.id)
    this.#tables.apply(rows, this.#batch++).catch(this.#caught)
  }

  /** Settled epochs are kept for good, with all their lines. */
  async #compareSettlements(disk: SimDisk): Promise<void> {
    const { read } = this.#tables
    const due = disk.settledBefore(Number.MAX_SAFE_INTEGER)
    const heads = await read.settlements(Number.MAX_SAFE_INTEGER, due.length + 1)
    if (heads.length !== due.length)
      broken('store', `the store keeps ${heads.length} settled epochs, not ${due.length}`)
    for (const [i, { epochId, batchId, at, batch, policy, parts }] of due.entries()) {
      const stored = { ...pick(heads[i]), parts: await read.settlementParts(epochId) }
      const difference = firstDifference(stored, { epochId, batchId, at, batch, policy, parts })
      if (difference !== null)
        broken('store', `the store keeps epoch ${epochId} otherwise: ${difference}`)
    }
  }

  async compare(disk: SimDisk): Promise<void> {
    const { read } = this.#tables
    for (const id of this.#everStored) {
      const stored = {
        job: await read.job(id),
        leases: await read.leases(id),
        failures: await read.failures(id),
        result: await read.result(id),
      }
      const due = {
        job: disk.jobs.get(id) ?? null,
        leases: disk.leasesOf(id),
        failures: disk.failuresOf(id),
        result: disk.results.get(id) ?? null,
      }
      const difference = firstDifference(stored, due)
      if (difference !== null) broken('store', `the store keeps ${id} otherwise: ${difference}`)
    }
    await this.#compareSettlements(disk)
  }
}

function pick(head: SettlementHead | undefined): Partial<SettlementHead> {
  if (head === undefined) return {}
  const { epochId, batchId, at, batch, policy } = head
  return { epochId, batchId, at, batch, policy }
}
