import type { JobRow, LeaseRow } from '@fairlead/core'
import type { KeyPrints, Snapshot, StoreReads, Tables, WriteBatch } from '@fairlead/core/internal'
import { JOB, LEASE, rowOf } from '../../rows/rows.ts'
import type { ThreadHost } from '../../thread/thread-host.ts'
import { asUnavailable } from '../../unavailable.ts'
import type { SqlValue } from '../driver.ts'
import { encodeBatch } from '../rows/batch-codec.ts'
import { CellReader } from '../rows/cell-codec.ts'
import { rowIn } from '../rows/row-sums.ts'
import type { Overview, PackedPayloads, Sealed } from './load-tables.ts'
import type { TablesFile, TimeMove } from './tables-file.ts'

/** The number of jobs in one answer while loading. */
const LOAD_PAGE = 4_000

/** The cells of a job and of a lease, and their sums. */
const [JOB_CELLS, LEASE_CELLS] = [JOB, LEASE].map(
  ({ columns, sums }) => columns.length + sums.length,
) as [number, number]

/** The tables as their user has them. The connection is on a thread of its own; batches reach it as bytes. */
export class SqliteTables implements Tables {
  readonly read: StoreReads
  readonly #path: string
  readonly #host: ThreadHost<TablesFile>

  constructor(path: string, host: ThreadHost<TablesFile>) {
    this.#path = path
    this.#host = host
    const read = <Name extends keyof StoreReads>(name: Name): StoreReads[Name] =>
      ((...args: unknown[]) => host.call('read', [name, args])) as StoreReads[Name]
    this.read = {
      job: read('job'),
      jobsByTx: read('jobsByTx'),
      payloads: async (seqs) => unpacked(await host.call('payloads', [seqs])),
      jobs: read('jobs'),
      leases: read('leases'),
      failures: read('failures'),
      lease: read('lease'),
      result: read('result'),
      round: read('round'),
      settlements: read('settlements'),
      settlementParts: read('settlementParts'),
      journal: read('journal'),
      timeline: read('timeline'),
      assignmentsSince: read('assignmentsSince'),
      everything: read('everything'),
    }
  }

  async load(): Promise<Snapshot> {
    const rest = await this.#host.call('loadRest', [])
    const jobs: JobRow[] = []
    const leases: LeaseRow[] = []
    // The thread reads the next page while this one is decoded here.
    let next = this.#host.call('loadJobs', [0, LOAD_PAGE])
    for (;;) {
      const { jobs: page, leases: cells, last, count } = await next
      const isLast = count < LOAD_PAGE
      if (!isLast) {
        next = this.#host.call('loadJobs', [last, LOAD_PAGE])
        // It is awaited later; a refusal is heard then.
        next.catch(() => {})
      }
      for (const job of JSON.parse(page)) jobs.push(jobOf(job))
      const reader = new CellReader(cells)
      for (let rest = reader.number(); rest > 0; rest--) {
        leases.push(rowOf(LEASE, reader.cells(LEASE_CELLS)))
      }
      if (isLast) break
    }
    leases.sort((a, b) => a.tStart - b.tStart || a.attempt - b.attempt || a.jobSeq - b.jobSeq)
    return { ...rest, jobs, leases }
  }

  keyPrints(afterSeq: number, limit: number): Promise<KeyPrints> {
    return this.#host.call('keyPrints', [afterSeq, limit])
  }

  async apply(rows: WriteBatch, batch: number): Promise<number> {
    const bytes = this.#encode(rows)
    return this.#host.call('apply', [bytes, batch], [bytes.buffer as ArrayBuffer])
  }

  sync(): Promise<number> {
    return this.#host.call('sync', [])
  }

  scrub(): Promise<number | null> {
    return this.#host.call('scrub', [])
  }

  /** Commits everything that was applied, so that other connections see it. Resolves with its last batch. */
  commit(): Promise<number> {
    return this.#host.call('commit', [])
  }

  overview(): Promise<Overview> {
    return this.#host.call('overview', [])
  }

  problems(): Promise<string[]> {
    return this.#host.call('problems', [])
  }

  sealed(): Promise<Sealed[]> {
    return this.#host.call('sealed', [])
  }

  async moveTimes(move: TimeMove, rows: WriteBatch): Promise<void> {
    await this.#host.call('moveTimes', [move, this.#encode(rows)])
  }

  close(): Promise<void> {
    return this.#host.close()
  }

  /**
   * Closes tables behind a log that ends with a batch. If they reflect it, the file is complete without the log then. If
   * they do not, or cannot be written, they continue from the log.
   */
  async closeAt(logBatch: number): Promise<void> {
    try {
      await this.#host.call('finish', [logBatch])
    } catch {
      // The log has everything that could not be written.
    }
    await this.#host.close()
  }

  #encode(rows: WriteBatch): Uint8Array {
    try {
      return encodeBatch(rows)
    } catch (error) {
      throw asUnavailable(this.#path, error)
    }
  }
}

/** The places of text that people chose among the cells of a job. */
const CHOSEN = ['tier', 'model'].map((name) => JOB.columns.findIndex(({ field }) => field === name))

/** A job of load-jobs.sql. */
function jobOf(cells: SqlValue[]): JobRow {
  for (const [i, place] of CHOSEN.entries()) {
    const isHex = cells[JOB_CELLS + i] === 1
    if (isHex) cells[place] = Buffer.from(cells[place] as string, 'hex')
  }
  return rowIn(JOB, cells)
}

function unpacked({ bytes, lengths }: PackedPayloads): (Uint8Array | null)[] {
  let at = 0
  return lengths.map((length) => {
    if (length < 0) return null
    at += length
    return bytes.subarray(at - length, at)
  })
}
