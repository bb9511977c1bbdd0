import type { JobId, JobRow } from '@fairlead/core'
import type { WriteBatch } from '@fairlead/core/internal'
import type { SimDisk } from '../store/sim-disk.ts'

/** What a read may say of a job: all null and false if it is not stored. */
export interface JobSight {
  readonly status: JobRow['status'] | null
  readonly attempt: number | null
  readonly retries: number | null
  readonly hasResult: boolean
}

interface Version extends JobSight {
  /** The first batch that has it. */
  readonly batch: number
}

/** Every job as it was at the end of each batch, for reads that see the past. */
export class JobHistory {
  readonly #disk: SimDisk
  readonly #versions = new Map<JobId, Version[]>()

  constructor(disk: SimDisk) {
    this.#disk = disk
  }

  /** These rows were written with this batch. */
  written(rows: WriteBatch, batch: number): void {
    const { newJobs, jobs, results, pruneEndedBefore, pruneResultsBefore } = rows
    for (const { row } of newJobs) this.#note(row.id, batch)
    for (const { id } of jobs) this.#note(id, batch)
    for (const { jobId } of results) this.#note(jobId, batch)
    if (pruneEndedBefore === null && pruneResultsBefore === null) return
    for (const id of this.#versions.keys()) this.#note(id, batch)
  }

  /** Whether a job was like this at any moment from the end of one batch to that of another. */
  wasSeen(
    id: JobId,
    isLike: (sight: JobSight) => boolean,
    span: { readonly from: number; readonly to: number },
  ): boolean {
    const versions = this.#versions.get(id) ?? []
    return versions.some((version, i) => {
      const next = versions[i + 1]
      const isInTime = version.batch <= span.to && (next === undefined || next.batch > span.from)
      return isInTime && isLike(version)
    })
  }

  #note(id: JobId, batch: number): void {
    const row = this.#disk.jobs.get(id)
    const { status = null, attempt = null, retries = null } = row ?? {}
    const version = { batch, status, attempt, retries, hasResult: this.#disk.results.has(id) }
    const versions = this.#versions.get(id) ?? []
    const last = versions.at(-1)
    const isSame =
      last?.status === status &&
      last.attempt === attempt &&
      last.retries === retries &&
      last.hasResult === version.hasResult
    if (isSame) return
    // A batch whose rows come in parts shows what it has at its end.
    if (last?.batch === batch) versions.pop()
    versions.push(version)
    this.#versions.set(id, versions)
  }
}
