import {
  type Caller,
  hasEnded,
  type JobFilter,
  type JobId,
  type JobRow,
  type JournalRow,
  type KindName,
  type LeaseId,
  type LeaseRow,
  type ResultRow,
  type RoundRow,
  type StoreReads,
} from '@fairlead/core'
import { bytesOf } from './cells.ts'
import type { Columns, SqlValue } from './driver.ts'
import { everyRow } from './every-row.ts'
import {
  assignmentRow,
  jobRow,
  journalRow,
  leaseRow,
  payloadOf,
  resultRow,
  roundRow,
} from './rows.ts'
import type { Statements } from './statements.ts'

/** Runs a read while the store is open, and turns the driver's errors into ours. */
export type Ask = <Answer>(read: (statements: Statements) => Answer) => Answer

/** The read side. Commits are synchronous on the same connection, so all it sees is committed. */
export class SqliteReads implements StoreReads {
  readonly #ask: Ask

  constructor(ask: Ask) {
    this.#ask = ask
  }

  job(id: JobId): JobRow | null {
    return this.#one('find-job', jobRow, bytesOf(id))
  }

  jobByTx(caller: Caller, txHash: string): JobRow | null {
    return this.#one('find-job-by-tx', jobRow, bytesOf(caller), bytesOf(txHash))
  }

  payload(id: JobId): Uint8Array | null {
    return this.#one('find-payload', payloadOf, bytesOf(id))
  }

  jobs(filter: JobFilter): JobRow[] {
    const { status, caller } = filter
    const params = filterParams(filter)
    if (caller !== undefined) {
      return this.#all('list-jobs-of-caller', jobRow, { ...params, caller: bytesOf(caller) })
    }
    const isLive = status !== undefined && !hasEnded(status)
    return this.#all(isLive ? 'list-live-jobs' : 'list-jobs', jobRow, params)
  }

  leases(jobId: JobId): LeaseRow[] {
    return this.#all('list-leases', leaseRow, bytesOf(jobId))
  }

  lease(id: LeaseId): LeaseRow | null {
    return this.#one('find-lease', leaseRow, bytesOf(id))
  }

  result(jobId: JobId): ResultRow | null {
    return this.#one('find-result', resultRow, bytesOf(jobId))
  }

  round(height: number, kind: KindName): RoundRow | null {
    return this.#one('find-round', roundRow, height, kind)
  }

  journal(afterSeq: number, limit: number): JournalRow[] {
    return this.#all('list-journal', journalRow, afterSeq, limit)
  }

  timeline(jobId: JobId): JournalRow[] {
    return this.#all('list-timeline', journalRow, bytesOf(jobId))
  }

  assignmentsSince(atMs: number): { readonly caller: Caller; readonly at: number }[] {
    return this.#all('list-assignments', assignmentRow, atMs)
  }

  everything(): ReturnType<StoreReads['everything']> {
    return everyRow(this.#ask)
  }

  #one<Row>(name: string, row: (columns: Columns) => Row, ...params: SqlValue[]): Row | null {
    return this.#ask((statements) => {
      const columns = statements.get(name).get(...params)
      return columns === undefined ? null : row(columns)
    })
  }

  #all<Row>(
    name: string,
    row: (columns: Columns) => Row,
    ...params: readonly (SqlValue | Columns)[]
  ): Row[] {
    return this.#ask((statements) =>
      statements
        .get(name)
        .all(...params)
        .map(row),
    )
  }
}

/** Null stands for any. */
function filterParams(filter: JobFilter): Columns {
  const { status = null, providerId = null, kind = null, afterHeight, afterSeq, limit } = filter
  const height = afterHeight === undefined ? null : afterHeight.toString()
  return {
    status,
    provider_id: providerId,
    kind,
    after_height: height,
    after_seq: afterSeq,
    limit,
  }
}
