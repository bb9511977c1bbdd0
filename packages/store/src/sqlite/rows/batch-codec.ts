import type { JournalRecord, NewJobRow, WriteBatch } from '@fairlead/core/internal'
import {
  FAILURE,
  JOB,
  JOB_CHANGE,
  LANE,
  LEASE,
  LEASE_CHANGE,
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
import { CellWriter } from './cell-codec.ts'
import { putRow } from './put-row.ts'

/**
 * All rows of a batch as bytes: five numbers, then for each kind of row the number of rows and their cells. The
 * table writer reads them in the same order.
 */
export function encodeBatch(rows: WriteBatch): Uint8Array {
  writer.start()
  writer.reserve(settledBytes(rows))
  writer.cell(rows.eraseEnded?.from ?? null)
  writer.cell(rows.eraseEnded?.before ?? null)
  writer.cell(rows.pruneEndedBefore)
  writer.cell(rows.pruneResultsBefore)
  writer.cell(rows.cutJournalAt)
  section(rows.newJobs, putNewJob)
  sectionOf(JOB_CHANGE, rows.jobs)
  sectionOf(LEASE_CHANGE, rows.leases)
  sectionOf(LEASE, rows.newLeases)
  sectionOf(RESULT, rows.results)
  sectionOf(FAILURE, rows.failures)
  section(rows.journal, putEntry)
  sectionOf(ROUND, rows.rounds)
  sectionOf(PROVIDER, rows.providers)
  sectionOf(SHARE, rows.shares)
  section(rows.clearedLanes, (lane) => writer.text(lane))
  sectionOf(LANE, rows.lanes)
  sectionOf(SETTLEMENT, rows.settlements)
  sectionOf(
    STORED_PART,
    rows.settlements.flatMap(({ epochId, parts }) => parts.map((part) => ({ epochId, ...part }))),
  )
  sectionOf(
    META,
    Object.entries(rows.meta).map(([name, value]) => ({ name, value })),
  )
  section(rows.prunedJobs, ({ seqs, resultsBefore }) => {
    writer.text(JSON.stringify(seqs))
    writer.cell(resultsBefore)
  })
  return writer.finish()
}

const writer = new CellWriter()

/** Nearly all bytes of a settled epoch. */
function settledBytes({ settlements }: WriteBatch): number {
  let bytes = 0
  for (const { parts, due } of settlements) {
    bytes += due.length
    for (const { body } of parts) bytes += body.length + PART_BYTES
  }
  return bytes
}

/** Of a part beside its body, at most. */
const PART_BYTES = 512

function section<Row>(rows: readonly Row[], put: (row: Row) => void): void {
  writer.number(rows.length)
  for (const row of rows) put(row)
}

function sectionOf(type: RowType<unknown>, rows: readonly object[]): void {
  writer.number(rows.length)
  for (const row of rows) putRow(writer, type, row)
}

/** Nobody can repeat a `tx_hash` that the engine drew, so such a job needs no key. */
function putNewJob({ row, payload }: WriteBatch['newJobs'][number]): void {
  putRow(writer, JOB, row)
  writer.number(hasKey(row) ? 1 : 0)
  putRow(writer, PAYLOAD, { jobSeq: row.seq, payload })
}

function hasKey({ txHash }: NewJobRow): boolean {
  return typeof txHash === 'string'
}

function putEntry(entry: JournalRecord): void {
  writer.number(entry.seq)
  writer.cell(entry.jobSeq)
  writer.record(entry.seq, entry)
}
