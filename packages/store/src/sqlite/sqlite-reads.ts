import {
  type AuditEntry,
  type Caller,
  type FailureRow,
  hasEnded,
  type JobId,
  type JobRow,
  type KindName,
  type LeaseId,
  type LeaseRow,
  type ResultRow,
  toHex,
} from '@fairlead/core'
import type { AnyRow, JobFilter, RoundRow, StoreReads } from '@fairlead/core/internal'
import { findMany } from './bulk.ts'
import { bytesOf, textCell } from './cells.ts'
import type { Columns, SqlValue } from './driver.ts'
import { entriesOf } from './journal-blocks.ts'
import type { PendingRows } from './pending-rows.ts'
import {
  assignmentRow,
  blockRow,
  failureRow,
  jobRow,
  keyedRow,
  leaseRow,
  metaRow,
  payloadOf,
  payloadRow,
  providerRow,
  resultRow,
  roundRow,
  shareRow,
} from './rows.ts'
import type { Statements } from './statements.ts'

/** What the port promises, as it is on the thread that has the connection. */
export type DirectReads = {
  readonly [Name in keyof StoreReads]: (
    ...args: Parameters<StoreReads[Name]>
  ) => Awaited<ReturnType<StoreReads[Name]>>
}

/** Characters of an id: 0x and its digits. */
const ID_LENGTH = 66

/** The tables in the order in which they are listed (STORE-9). The journal comes before the last. */
const TABLES: readonly (readonly [table: string, row: (columns: Columns) => object])[] = [
  ['jobs', jobRow],
  ['payloads', payloadRow],
  ['leases', leaseRow],
  ['providers', providerRow],
  ['results', resultRow],
  ['failures', failureRow],
  ['shares', shareRow],
  ['lanes', keyedRow],
  ['rounds', roundRow],
]

/** The read side. Commits are made on the same connection, so all it sees is committed. */
export class SqliteReads implements DirectReads {
  /** Those that find what they look for among the rows that are not in their tables yet, too. */
  readonly lookAtPending: ReadonlySet<keyof DirectReads> = new Set(['payloads', 'jobsByTx'])
  readonly #statements: Statements
  readonly #pending: PendingRows

  constructor(statements: Statements, pending: PendingRows) {
    this.#statements = statements
    this.#pending = pending
  }

  job(id: JobId): JobRow | null {
    return this.#one('find-job', jobRow, bytesOf(id))
  }

  jobsByTx(keys: readonly { readonly caller: Caller; readonly txHash: string }[]) {
    return keys.map((given) => {
      const key = [bytesOf(given.caller), bytesOf(given.txHash)] as const
      const pending = this.#pending.jobByKey(...key)
      if (pending !== null) return { id: toHex(pending.id) as JobId, payload: pending.payload }
      const found = this.#one('find-job-by-tx', payloadRow, ...key)
      return found === null ? null : { id: found.jobId, payload: found.payload }
    })
  }

  payloads(seqs: readonly number[]): (Uint8Array | null)[] {
    const found = new Map<SqlValue, Uint8Array>()
    const unknown = seqs.filter((seq) => !this.#pending.hasPayload(seq))
    for (const columns of findMany(this.#statements, 'find-payloads-20', unknown)) {
      found.set(columns['job'] as number, payloadOf(columns))
    }
    return seqs.map((seq) => this.#pending.payload(seq) ?? found.get(seq) ?? null)
  }

  jobs(filter: JobFilter): JobRow[] {
    const { status, caller, idPrefix } = filter
    const params = filterParams(filter)
    const which = filter.beforeSeq === undefined ? '' : 'newest-'
    if (idPrefix !== undefined) {
      return this.#all(`list-${which}jobs-by-prefix`, jobRow, {
        ...params,
        id_prefix: idPrefix,
        first_id: bytesOf(idPrefix.padEnd(ID_LENGTH, '0')),
        caller: caller === undefined ? null : bytesOf(caller),
      })
    }
    if (caller !== undefined) {
      const name = `list-${which}jobs-of-caller`
      return this.#all(name, jobRow, { ...params, caller: bytesOf(caller) })
    }
    const isLive = status !== undefined && !hasEnded(status)
    return this.#all(`list-${which}${isLive ? 'live-jobs' : 'jobs'}`, jobRow, params)
  }

  leases(jobId: JobId): LeaseRow[] {
    return this.#all('list-leases', leaseRow, bytesOf(jobId))
  }

  failures(jobId: JobId): FailureRow[] {
    return this.#all('list-failures', failureRow, bytesOf(jobId))
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

  journal(afterSeq: number, limit: number): AuditEntry[] {
    const entries: AuditEntry[] = []
    if (limit <= 0) return entries
    for (const entry of this.#entriesFrom(afterSeq + 1)) {
      if (entries.push(entry) === limit) break
    }
    return entries
  }

  timeline(jobId: JobId): AuditEntry[] {
    const seqs = this.#one('find-entries', ({ entries }) => entries as string, bytesOf(jobId)) ?? ''
    const entries: AuditEntry[] = []
    for (const seq of seqs.split(' ').filter(Boolean).map(Number)) {
      for (const entry of this.#entriesFrom(seq)) {
        // The entry itself may have been cut; then this is the oldest that is there.
        if (entry.seq === seq) entries.push(entry)
        break
      }
    }
    return entries
  }

  assignmentsSince(atMs: number): { readonly caller: Caller; readonly at: number }[] {
    return this.#all('list-assignments', assignmentRow, atMs)
  }

  everything(): AnyRow[] {
    const rows: AnyRow[] = []
    const list = (table: string, row: object) => rows.push([table, row as AnyRow[1]])
    for (const [table, row] of TABLES) {
      for (const each of this.#all(`all-${table}`, row)) list(table, each)
    }
    for (const entry of this.#entriesFrom(1)) list('journal', entry)
    for (const row of this.#all('all-meta', metaRow)) list('meta', row)
    return rows
  }

  /** Entries from a number on, block by block. */
  *#entriesFrom(seq: number): Iterable<AuditEntry> {
    for (const columns of this.#statements.get('list-journal').iterate(seq)) {
      for (const entry of entriesOf(blockRow(columns))) if (entry.seq >= seq) yield entry
    }
  }

  #one<Row>(name: string, row: (columns: Columns) => Row, ...params: SqlValue[]): Row | null {
    const columns = this.#statements.get(name).get(...params)
    return columns === undefined ? null : row(columns)
  }

  #all<Row>(
    name: string,
    row: (columns: Columns) => Row,
    ...params: readonly (SqlValue | Columns)[]
  ): Row[] {
    return this.#statements
      .get(name)
      .all(...params)
      .map(row)
  }
}

/** Null stands for any. */
function filterParams(filter: JobFilter): Columns {
  const { status = null, providerId = null, kind = null, model } = filter
  const { afterHeight, afterSeq, limit } = filter
  const height = afterHeight === undefined ? null : afterHeight.toString()
  return {
    status,
    provider_id: providerId,
    kind,
    model: model === undefined ? null : textCell(model),
    after_height: height,
    after_seq: afterSeq,
    ...(filter.beforeSeq === undefined ? {} : { before_seq: filter.beforeSeq }),
    limit,
  }
}
