import { auditBytes, FairleadError, isLive, type WriteBatch } from '@fairlead/core'
import { CellReader, CellWriter } from './cell-codec.ts'
import type { SqlValue } from './driver.ts'
import {
  putJob,
  putJobState,
  putLease,
  putLeaseState,
  putMeta,
  putProvider,
  putResult,
  putRound,
  putShare,
  WIDTH,
} from './rows.ts'

/** The rows of one table: their cells, one row after the other. */
export type Cells = readonly SqlValue[]

/** The rows of a batch as the statements take them. */
export interface CellBatch {
  readonly pruneEndedBefore: number | null
  readonly newJobs: Cells
  readonly payloads: Cells
  readonly jobs: Cells
  readonly newLeases: Cells
  readonly leases: Cells
  readonly providers: Cells
  readonly results: Cells
  readonly shares: Cells
  readonly rounds: Cells
  readonly meta: Cells
  /** The number of the first entry of the journal, or null if there is none. */
  readonly firstEntry: number | null
  /** The job of each entry. */
  readonly entryJobs: Cells
}

const writer = new CellWriter()

/**
 * A batch as bytes, made by the thread that decides for the one that writes: first the rows, then, from
 * `recordsAt` on, the records of the journal, which are stored at once while rows can wait (STORE-14).
 */
export function encodeBatch(batch: WriteBatch): { bytes: Uint8Array; recordsAt: number } {
  const { journal } = batch
  writer.start()
  writer.cell(batch.pruneEndedBefore)
  section(batch.newJobs, ({ row }) => putJob(writer, row))
  section(batch.newJobs, ({ row, payload }) => {
    writer.number(row.seq)
    writer.bytes(payload)
  })
  section(batch.jobs, (row) => {
    writer.number(row.seq)
    writer.id(row.id)
    putJobState(writer, row)
  })
  section(batch.newLeases, (row) => putLease(writer, row))
  // Ended ones first: the next lease of a job may be in the same batch, and only one is live.
  for (const live of [false, true]) {
    const rows = batch.leases.filter(({ status }) => isLive(status) === live)
    section(rows, (row) => putLeaseState(writer, row))
  }
  section(batch.providers, (row) => putProvider(writer, row))
  section(batch.results, (row) => putResult(writer, row))
  section(batch.shares, (row) => putShare(writer, row))
  section(batch.rounds, (row) => putRound(writer, row))
  section(Object.entries(batch.meta), (entry) => putMeta(writer, entry))
  writer.cell(journal[0]?.seq ?? null)
  section(journal, ({ jobSeq }) => writer.cell(jobSeq))
  const recordsAt = writer.length
  for (const [i, { seq }] of journal.entries()) {
    const due = (journal[0]?.seq ?? 0) + i
    if (seq !== due) throw new FairleadError('InvalidState', `entry ${seq} is not the next, ${due}`)
  }
  section(journal, (record) => writer.bytes(auditBytes(record.seq, record)))
  return { bytes: writer.finish(), recordsAt }
}

export function decodeBatch(bytes: Uint8Array): CellBatch {
  const reader = new CellReader(bytes)
  const rows = (width: number) => reader.cells(width * reader.number())
  // In the order in which they were written.
  return {
    pruneEndedBefore: reader.cell() as number | null,
    newJobs: rows(WIDTH.job),
    payloads: rows(WIDTH.payload),
    jobs: rows(WIDTH.jobState),
    newLeases: rows(WIDTH.lease),
    leases: rows(WIDTH.leaseState).concat(rows(WIDTH.leaseState)),
    providers: rows(WIDTH.provider),
    results: rows(WIDTH.result),
    shares: rows(WIDTH.share),
    rounds: rows(WIDTH.round),
    meta: rows(WIDTH.meta),
    firstEntry: reader.cell() as number | null,
    entryJobs: rows(WIDTH.entryJob),
  }
}

export function decodeRecords(bytes: Uint8Array): readonly Uint8Array[] {
  const reader = new CellReader(bytes)
  return reader.cells(reader.number()) as Uint8Array[]
}

function section<Row>(rows: readonly Row[], put: (row: Row) => void): void {
  writer.number(rows.length)
  for (const row of rows) put(row)
}
