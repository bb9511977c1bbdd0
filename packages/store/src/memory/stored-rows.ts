import type {
  AuditEntry,
  Caller,
  FailureRow,
  JobId,
  JobRow,
  KindName,
  LeaseId,
  LeaseRow,
  ProviderId,
  ResultRow,
} from '@fairlead/core'
import {
  compareAscii,
  compareText,
  type KeyedRow,
  type ProviderRow,
  type RoundRow,
  type SettlementRow,
  type ShareRow,
} from '@fairlead/core/internal'

/** A job with all that goes when it goes. */
export interface StoredJob {
  readonly row: JobRow
  readonly payload: Uint8Array
  /** By attempt. */
  readonly leases: Map<number, LeaseRow>
  /** By attempt. */
  readonly failures: Map<number, FailureRow>
  /** The entries about it, oldest first. */
  readonly timeline: AuditEntry[]
}

/** All rows, and the ways to them that batches and reads take. Rows are replaced, never changed. */
export interface StoredRows {
  /** By number of acceptance. */
  readonly jobs: Map<number, StoredJob>
  readonly seqById: Map<JobId, number>
  readonly seqByTx: Map<string, number>
  readonly leaseKeys: Map<LeaseId, LeaseKey>
  readonly providers: Map<ProviderId, ProviderRow>
  /** By number of acceptance of the job. */
  readonly results: Map<number, ResultRow>
  /** The jobs of one id whose results are there, oldest first. */
  readonly seqsWithResult: Map<JobId, readonly number[]>
  /** By kind and caller. */
  readonly shares: Map<string, ShareRow>
  /** By lane and key. */
  readonly lanes: Map<string, StoredKeyedRow>
  /** By height, then by kind. */
  readonly rounds: Map<number, Map<KindName, RoundRow>>
  /** By epoch. */
  readonly settlements: Map<number, SettlementRow>
  /** Without gaps; it begins with the first that was not cut. */
  readonly journal: AuditEntry[]
  readonly meta: Map<string, string>
}

export type StoredKeyedRow = KeyedRow & { readonly value: Uint8Array }

export type LeaseKey = Pick<LeaseRow, 'jobSeq' | 'attempt'>

export function emptyRows(): StoredRows {
  return {
    jobs: new Map(),
    seqById: new Map(),
    seqByTx: new Map(),
    leaseKeys: new Map(),
    providers: new Map(),
    results: new Map(),
    seqsWithResult: new Map(),
    shares: new Map(),
    lanes: new Map(),
    rounds: new Map(),
    settlements: new Map(),
    journal: [],
    meta: new Map(),
  }
}

/** Both are hex of one length, so no two pairs make one text. */
export function txKey({ caller, txHash }: { readonly caller: Caller; readonly txHash: string }) {
  return `${caller} ${txHash}`
}

export function findJob(tables: StoredRows, id: JobId): StoredJob | null {
  const seq = tables.seqById.get(id)
  return seq === undefined ? null : (tables.jobs.get(seq) ?? null)
}

export function findLease(tables: StoredRows, id: LeaseId): LeaseRow | null {
  const key = tables.leaseKeys.get(id)
  if (key === undefined) return null
  return tables.jobs.get(key.jobSeq)?.leases.get(key.attempt) ?? null
}

/** While a job of this id is there, its result counts; then that of the newest job that has one. */
export function findResult(tables: StoredRows, jobId: JobId): ResultRow | null {
  const seq = tables.seqById.get(jobId) ?? tables.seqsWithResult.get(jobId)?.at(-1)
  return seq === undefined ? null : (tables.results.get(seq) ?? null)
}

export function failuresOf({ failures }: StoredJob): FailureRow[] {
  return [...failures.values()].sort((a, b) => a.attempt - b.attempt)
}

/** In the order of STORE-4. */
export function leasesByStart(jobs: Iterable<StoredJob>): LeaseRow[] {
  return [...jobs]
    .flatMap(({ leases }) => [...leases.values()])
    .sort((a, b) => a.tStart - b.tStart || a.attempt - b.attempt || a.jobSeq - b.jobSeq)
}

export function providersById({ providers }: StoredRows): ProviderRow[] {
  return [...providers.values()].sort((a, b) => compareAscii(a.id, b.id))
}

export function sharesInOrder({ shares }: StoredRows): ShareRow[] {
  return [...shares.values()].sort(
    (a, b) => compareAscii(a.kind, b.kind) || compareAscii(a.caller, b.caller),
  )
}

export function keyedRowsInOrder({ lanes }: StoredRows): StoredKeyedRow[] {
  return [...lanes.values()].sort(
    (a, b) => compareText(a.lane, b.lane) || compareText(a.key, b.key),
  )
}

export function metaByName({ meta }: StoredRows): [name: string, value: string][] {
  return [...meta].sort(([a], [b]) => compareText(a, b))
}
