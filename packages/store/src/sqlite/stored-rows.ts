import type { JobStatus, LeaseStatus } from '@fairlead/core'
import { type BatchRows, JOB_AT, LEASE_AT } from './batch-codec.ts'
import { findMany } from './bulk.ts'
import { CellReader } from './cell-codec.ts'
import type { SqlValue } from './driver.ts'
import { type KnownKeys, partsOfHash } from './known-keys.ts'
import type { Statements } from './statements.ts'

const FEW = 5

export interface JobStub {
  readonly seq: number
  readonly id: Uint8Array
  readonly status: JobStatus
  readonly hasLeases: boolean
}

/** What changes are checked by in the tables, looked up twenty at a time where there are many. */
export class StoredRows {
  readonly #statements: Statements
  /** No job has a higher number; null when that is not known. */
  #highest: number | null = null
  /** No round has a greater height; null when that is not known. */
  #highestRound: number | null = null
  /** The last job when the log began to be merged anew. */
  #lastBefore: number | null = null

  readonly #known: KnownKeys

  /** `known` has the key hashes that are in their table. */
  constructor(statements: Statements, known: KnownKeys) {
    this.#statements = statements
    this.#known = known
  }

  /** What is known of the tables may be wrong from here on. */
  forget(): void {
    this.#highest = null
    this.#highestRound = null
    this.#lastBefore = null
  }

  /** Those of the jobs that are there. */
  jobs(seqs: readonly number[]): JobStub[] {
    return findMany(this.#statements, 'find-job-stubs-20', seqs).map((columns) => ({
      seq: columns['seq'] as number,
      id: columns['id'] as Uint8Array,
      status: columns['status'] as JobStatus,
      hasLeases: columns['has_leases'] === 1,
    }))
  }

  /** Whether any of the numbers is that of a job. They mostly ascend, and above the highest is nothing. */
  hasSeqs(seqs: readonly number[]): boolean {
    this.#highest ??= this.#lastSeq()
    const highest = this.#highest
    const low = seqs.filter((seq) => seq <= highest)
    for (const seq of seqs) this.#highest = Math.max(this.#highest, seq)
    return low.length > 0 && this.jobs(low).length > 0
  }

  #lastSeq(): number {
    return (this.#statements.get('find-last-job').get()?.['seq'] ?? 0) as number
  }

  /** Those of the key hashes that are in their table: nearly always none. */
  taken(hashes: readonly number[]): ReadonlySet<number> {
    const asked = hashes.filter((hash) => this.#known.mayHave(partsOfHash(hash)))
    // For a few a statement that looks for twenty takes longer than one for each.
    if (asked.length <= FEW) return new Set(asked.filter((hash) => this.#isTaken(hash)))
    const found = findMany(this.#statements, 'find-names-20', asked)
    return new Set(found.map(({ name }) => name as number))
  }

  #isTaken(hash: number): boolean {
    return this.#statements.get('has-name').get(hash) !== undefined
  }

  /** The number of the job that has this id. */
  seqOf(id: Uint8Array): number | null {
    return (this.#statements.get('find-job-number').get(id)?.['seq'] ?? null) as number | null
  }

  hasJobKey(caller: Uint8Array, txHash: Uint8Array): boolean {
    return this.#statements.get('find-job-by-tx').get(caller, txHash) !== undefined
  }

  /** The number of the job of the lease that has this id. */
  jobOfLease(id: Uint8Array): number | null {
    return (this.#statements.get('find-lease').get(id)?.['job'] ?? null) as number | null
  }

  lease(
    job: number,
    attempt: number,
  ): { readonly id: Uint8Array; readonly status: LeaseStatus } | null {
    const columns = this.#statements.get('find-lease-stub').get(job, attempt)
    if (columns === undefined) return null
    return { id: columns['id'] as Uint8Array, status: columns['status'] as LeaseStatus }
  }

  /** The attempt of the live lease of a job. */
  liveAttempt(job: number): number | null {
    const columns = this.#statements.get('find-live-attempt').get(job)
    return (columns?.['attempt'] as number | undefined) ?? null
  }

  /** Heights mostly ascend, too. */
  hasRound(height: number, kind: string): boolean {
    this.#highestRound ??= this.#lastHeight()
    if (height > this.#highestRound) {
      this.#highestRound = height
      return false
    }
    return this.#statements.get('find-round').get(height, kind) !== undefined
  }

  #lastHeight(): number {
    return (this.#statements.get('find-last-round').get()?.['height'] ?? 0) as number
  }

  /** The number of the last entry about a job. */
  lastEntry(job: number): number {
    const entries = this.#statements.get('find-last-entry').get(job)?.['entries'] as string
    return Number(entries.slice(entries.lastIndexOf(' ') + 1))
  }

  /** Takes what is new in a batch out of the tables, into which it may have come already. */
  forgetNew({ bytes, newJobs, newLeases, rounds }: BatchRows): void {
    // Of a job with a higher number than any that was there nothing is. The last may be gone by now.
    this.#lastBefore ??= this.#lastSeq()
    const last = this.#lastBefore
    for (const at of newLeases) {
      const job = bytes.readDoubleLE(at + LEASE_AT.job)
      if (job > last) continue
      this.#statements.get('forget-lease').run(job, bytes.readDoubleLE(at + LEASE_AT.attempt))
    }
    for (const at of newJobs) {
      const seq = bytes.readDoubleLE(at + JOB_AT.seq)
      if (seq > last) continue
      for (const name of ['forget-job', 'forget-payload']) this.#statements.get(name).run(seq)
    }
    for (const at of rounds) {
      const cells: SqlValue[] = []
      new CellReader().seek(bytes, at).cellsTo(cells, 2)
      this.#statements.get('forget-round').run(...cells)
    }
  }
}
