import type {
  AuditEntry,
  Caller,
  FailureRow,
  JobId,
  JobRow,
  KindName,
  LeaseId,
  LeaseRow,
  ResultRow,
} from '@fairlead/core'
import { fromHex, hasEnded, toHex } from '@fairlead/core'
import {
  type AnyRow,
  type Assigned,
  isHex32,
  type JobFilter,
  type RoundRow,
  type SettlementHead,
  type SettlementPart,
  type StoreReads,
} from '@fairlead/core/internal'
import { isIdPrefix } from '../../id-prefix.ts'
import { entryOf } from '../../rows/record-codec.ts'
import {
  FAILURE,
  JOB,
  LANE,
  LEASE,
  META,
  PAYLOAD,
  PROVIDER,
  RESULT,
  ROUND,
  type RowType,
  SETTLEMENT,
  SHARE,
  STORED_PART,
} from '../../rows/rows.ts'
import type { NamedValues, SqlValue } from '../driver.ts'
import { damagedEntry, rowIn } from '../rows/row-sums.ts'
import { id48, type KeyHash } from './key-hash.ts'
import type { Statements } from './statements.ts'

/** The reads of the port, as they are on the thread that has the connection. */
export type DirectReads = {
  readonly [Name in keyof StoreReads]: (
    ...args: Parameters<StoreReads[Name]>
  ) => Awaited<ReturnType<StoreReads[Name]>>
}

/** The cells of a job and its sums. */
const JOB_CELLS = JOB.columns.length + JOB.sums.length

/** The characters of an id: 0x and its digits. */
const ID_LENGTH = 66

/** The tables in the order in which they are listed (STORE-9). Payloads come behind the jobs, the journal before the last. */
const LISTED = [JOB, LEASE, PROVIDER, RESULT, FAILURE, SHARE, LANE, ROUND, SETTLEMENT, STORED_PART]

/** The read side. It uses the writer's connection, so it sees every row that was applied. */
export class SqliteReads implements DirectReads {
  readonly #statements: Statements
  readonly #keyHash: KeyHash

  constructor(statements: Statements, keyHash: KeyHash) {
    this.#statements = statements
    this.#keyHash = keyHash
  }

  job(id: JobId): JobRow | null {
    return this.#one(JOB, 'find-job', ...keyOf(id))
  }

  jobsByTx(keys: readonly { readonly caller: Caller; readonly txHash: string }[]) {
    return keys.map((key) => {
      const caller = fromHex(key.caller) as Uint8Array
      const txHash = fromHex(key.txHash) as Uint8Array
      const statement = this.#statements.get('find-job-by-key')
      const cells = statement.get(this.#keyHash.of(caller, txHash), caller, txHash)
      if (cells === undefined) return null
      const { id } = rowIn(JOB, cells)
      return { id, payload: rowIn(PAYLOAD, cells, JOB_CELLS).payload }
    })
  }

  payloads(seqs: readonly number[]): (Uint8Array | null)[] {
    return seqs.map((seq) => {
      return this.#one(PAYLOAD, 'find-payload', seq)?.payload ?? null
    })
  }

  jobs(filter: JobFilter): JobRow[] {
    const { status, caller, idPrefix, beforeSeq, txHash } = filter
    if (caller !== undefined && !isHex32(caller)) return []
    const which = beforeSeq === undefined ? '' : 'newest-'
    const params = {
      ...filterParams(filter),
      ...(beforeSeq === undefined ? {} : { before_seq: beforeSeq }),
    }
    const callerId = caller === undefined ? null : bytesOfHex(caller)
    const { ended } = filter
    if (ended !== undefined) {
      const { after, before } = ended
      const place = { ended_at: after.at, ended_seq: after.seq, ended_before: before }
      return this.#all(JOB, 'list-jobs-by-end', { ...params, ...place, caller: callerId })
    }
    if (idPrefix !== undefined) {
      if (!isIdPrefix(idPrefix)) return []
      const [first, last] = ['0', 'f'].map((digit) => bytesOfHex(idPrefix.padEnd(ID_LENGTH, digit)))
      return this.#all(JOB, `list-${which}jobs-by-prefix`, {
        ...params,
        first_id: first as Uint8Array,
        last_id: last as Uint8Array,
        first48: id48(first as Uint8Array),
        last48: id48(last as Uint8Array),
        caller: callerId,
      })
    }
    if (callerId !== null && txHash !== undefined && isHex32(txHash)) {
      return this.#all(JOB, `list-${which}jobs-by-key`, {
        ...params,
        caller: callerId,
        key_hash: this.#keyHash.of(callerId, bytesOfHex(txHash)),
      })
    }
    if (callerId !== null) {
      return this.#all(JOB, `list-${which}jobs-of-caller`, {
        ...params,
        caller: callerId,
        caller48: id48(callerId),
      })
    }
    const isLive = status !== undefined && !hasEnded(status)
    return this.#all(JOB, `list-${which}${isLive ? 'live-jobs' : 'jobs'}`, params)
  }

  leases(jobId: JobId): LeaseRow[] {
    return this.#all(LEASE, 'list-leases', ...keyOf(jobId))
  }

  failures(jobId: JobId): FailureRow[] {
    return this.#all(FAILURE, 'list-failures', ...keyOf(jobId))
  }

  lease(id: LeaseId): LeaseRow | null {
    return this.#one(LEASE, 'find-lease', ...keyOf(id))
  }

  result(jobId: JobId): ResultRow | null {
    return this.#one(RESULT, 'find-result', ...keyOf(jobId))
  }

  round(height: number, kind: KindName): RoundRow | null {
    return this.#one(ROUND, 'find-round', height, kind)
  }

  settlements(beforeEpoch: number, limit: number): SettlementHead[] {
    const rows = this.#all(SETTLEMENT, 'list-settlements', beforeEpoch, Math.max(0, limit))
    return rows.map(({ due: _due, ...head }) => head)
  }

  settlementParts(epochId: number): SettlementPart[] {
    const rows = this.#all(STORED_PART, 'list-settlement-parts', epochId)
    return rows.map(({ epochId: _epochId, ...part }) => part)
  }

  journal(afterSeq: number, limit: number): AuditEntry[] {
    return this.#statements
      .get('list-journal')
      .all(afterSeq, Math.max(0, limit))
      .map((cells) => entryOf(cells, damagedEntry))
  }

  timeline(jobId: JobId): AuditEntry[] {
    return this.#statements
      .get('list-timeline')
      .all(...keyOf(jobId))
      .map((cells) => entryOf(cells, damagedEntry))
  }

  assignmentsSince(atMs: number): Assigned[] {
    const rows = this.#statements.get('list-assignments').all(atMs)
    return rows.map((cells) => ({
      caller: rowIn(JOB, cells).caller,
      at: rowIn(LEASE, cells, JOB_CELLS).tStart,
    }))
  }

  everything(): AnyRow[] {
    const rows: AnyRow[] = []
    const list = (table: string, row: object) => rows.push([table, row as AnyRow[1]])
    for (const type of LISTED) {
      for (const row of this.#all<object>(type, `all-${type.table}`)) list(type.table, row)
      if (type === JOB) for (const row of this.#allPayloads()) list('payloads', row)
    }
    for (const entry of this.journal(0, Number.MAX_SAFE_INTEGER)) list('journal', entry)
    for (const row of this.#all(META, 'all-meta')) list('meta', row)
    return rows
  }

  #allPayloads(): object[] {
    const rows = this.#statements.get('all-payloads').all()
    return rows.map((cells) => ({
      jobId: idOf(cells[0]),
      payload: rowIn(PAYLOAD, cells, 1).payload,
    }))
  }

  #one<Row extends object>(
    type: RowType<Row>,
    name: string,
    ...params: readonly SqlValue[]
  ): Row | null {
    const cells = this.#statements.get(name).get(...params)
    return cells === undefined ? null : rowIn(type, cells)
  }

  #all<Row extends object>(
    type: RowType<Row>,
    name: string,
    ...params: readonly (SqlValue | NamedValues)[]
  ): Row[] {
    const rows = this.#statements.get(name).all(...params)
    return rows.map((cells) => rowIn(type, cells))
  }
}

/** How a row is found by an id. Under a text that is no id there is nothing (STORE-8). */
function keyOf(id: string): readonly [number, Uint8Array] {
  if (!isHex32(id)) return NO_KEY
  const bytes = bytesOfHex(id)
  return [id48(bytes), bytes]
}

const NO_KEY = [-1, new Uint8Array()] as const

function bytesOfHex(hex: string): Uint8Array {
  return fromHex(hex) as Uint8Array
}

function idOf(cell: SqlValue | undefined): string {
  return toHex(cell as Uint8Array)
}

/** Null stands for any. */
function filterParams(filter: JobFilter): NamedValues {
  const { status = null, providerId = null, kind = null, model } = filter
  const { afterHeight, afterSeq, limit, tag = null, dedupeKey, txHash, error = null } = filter
  const { since = null, until = null, schedule = null } = filter
  return {
    status,
    provider_id: providerId,
    kind,
    // As text is stored; see rows.ts.
    model: model?.includes('\0') ? Buffer.from(model, 'utf8') : (model ?? null),
    after_height: afterHeight === undefined ? null : afterHeight.toString(),
    tag,
    // As it stands in the JSON of the options.
    dedupe_key: dedupeKey === undefined ? null : JSON.stringify(dedupeKey),
    schedule,
    tx_hash: txHash === undefined ? null : fromHex(txHash),
    error,
    since,
    until,
    after_seq: afterSeq,
    limit,
  }
}
