import { FairleadError, isLive, JOB_STATUSES, LEASE_STATUSES, toHex } from '@fairlead/core'
import { appendAuditBytes, type JournalRecord, type WriteBatch } from '@fairlead/core/internal'
import { CellReader, CellWriter } from './cell-codec.ts'
import { ID_BYTES } from './key-hashes.ts'
import {
  putFailure,
  putJob,
  putJobState,
  putKeyedRow,
  putLease,
  putLeaseState,
  putMeta,
  putProvider,
  putResult,
  putRound,
  putShare,
} from './rows.ts'

/** A row of a batch, where it lies; its cells are decoded only when it goes into its table. */
export interface RowAt {
  readonly bytes: Buffer
  readonly at: number
}

/**
 * What is looked at before then is at fixed places of a row. Behind it come its cells. A status is its
 * place in the list of words, and with it stands whether there is a time of the end.
 */
export const JOB_AT = { seq: 0, id: 8, caller: 40, txHash: 72, payload: 104 } as const
export const JOB_STATE_AT = { seq: 0, id: 8, status: 40, hasEnd: 41, cells: 42 } as const
export const LEASE_AT = { job: 0, attempt: 8, id: 16, cells: 48 } as const
export const LEASE_STATE_AT = { job: 0, attempt: 8, id: 16, status: 48, cells: 49 } as const
export const RESULT_AT = { job: 0, cells: 8 } as const
export const FAILURE_AT = { job: 0, attempt: 8, id: 16, cells: 48 } as const

/** Changes whenever the bytes of a batch do: a log may have been written by another version. */
const FORMAT = 5

const LENGTH_BYTES = 4
const NUMBER_BYTES = 8

/** In place of the job of an entry that is about none. */
export const NO_JOB = -1

/** Of an entry of the journal first its job, then its record. */
export const ENTRY_AT = { job: 0, record: 8 } as const

/**
 * The first entry about a job says nothing that its facts do not say, but for its time. So where the length of
 * a record is 0, there follow the place of these facts in the batch and the time: a quarter of the log of
 * enqueues would be such entries, and to encode them a tenth of the time that a batch of these takes.
 */
const FIRST_ENTRY_AT = { facts: 12, at: 16 } as const
const FIRST_ACTION = 'jobEnqueued'

/** Where the rows of a batch are, table by table. */
export interface BatchRows {
  readonly bytes: Buffer
  readonly pruneEndedBefore: number | null
  readonly pruneResultsBefore: number | null
  /** Both null where nothing is to be erased. */
  readonly eraseEndedFrom: number | null
  readonly eraseEndedBefore: number | null
  readonly cutJournalAt: number | null
  /** When the first of its jobs ended; null if none has. */
  readonly firstEnd: number | null
  /** What never changes about a new job, and its payload; its state is at the same place of the next. */
  readonly newJobs: readonly number[]
  readonly newJobStates: readonly number[]
  readonly jobs: readonly number[]
  readonly newLeases: readonly number[]
  readonly newLeaseStates: readonly number[]
  readonly leases: readonly number[]
  readonly providers: readonly number[]
  readonly results: readonly number[]
  readonly failures: readonly number[]
  readonly shares: readonly number[]
  readonly lanes: readonly number[]
  readonly rounds: readonly number[]
  readonly meta: readonly number[]
  /** The number of the first entry of the journal, or null if there is none. */
  readonly firstEntry: number | null
  readonly entries: readonly number[]
}

const writer = new CellWriter()

/** A batch as bytes, and where in them the ids of its new jobs stand. */
export interface EncodedBatch {
  readonly bytes: Uint8Array
  readonly jobIds: readonly number[]
}

/** Made by the thread that decides for the one that writes. */
export function encodeBatch(batch: WriteBatch): EncodedBatch {
  const { journal } = batch
  writer.start()
  writer.rawByte(FORMAT)
  writer.cell(batch.pruneEndedBefore)
  writer.cell(batch.pruneResultsBefore)
  writer.cell(batch.eraseEnded?.from ?? null)
  writer.cell(batch.eraseEnded?.before ?? null)
  writer.cell(batch.cutJournalAt)
  writer.cell(firstEndOf(batch))
  // Where the ids of new rows stand: their states are behind them in the same order.
  const jobIds: number[] = []
  const leaseIds: number[] = []
  section(batch.newJobs, (job) => jobIds.push(encodeJob(job)))
  section(batch.newJobs, ({ row }, i) => encodeJobState(row, jobIds[i]))
  section(batch.jobs, (row) => encodeJobState(row))
  section(batch.newLeases, (row) => leaseIds.push(encodeLease(row)))
  section(batch.newLeases, (row, i) => encodeLeaseState(row, leaseIds[i]))
  // Ended ones first: the next lease of a job may be in the same batch, and only one is live.
  section(
    [
      ...batch.leases.filter(({ status }) => !isLive(status)),
      ...batch.leases.filter(({ status }) => isLive(status)),
    ],
    (row) => encodeLeaseState(row),
  )
  section(batch.providers, (row) => putProvider(writer, row))
  section(batch.results, (row) => {
    writer.rawDouble(row.jobSeq)
    putResult(writer, row)
  })
  section(batch.failures, (row) => {
    writer.rawDouble(row.jobSeq)
    writer.rawDouble(row.attempt)
    writer.rawId(row.jobId)
    putFailure(writer, row)
  })
  section(batch.shares, (row) => putShare(writer, row))
  section(batch.lanes, (row) => putKeyedRow(writer, row))
  section(batch.rounds, (row) => putRound(writer, row))
  section(Object.entries(batch.meta), (entry) => putMeta(writer, entry))
  const first = journal[0]?.seq ?? null
  writer.cell(first)
  let due = first ?? 0
  const firstJob = batch.newJobs[0]?.row.seq ?? 0
  section(journal, (record) => {
    const { seq, jobSeq } = record
    if (seq !== due) throw new FairleadError('InvalidState', `entry ${seq} is not the next, ${due}`)
    due++
    writer.rawDouble(jobSeq ?? NO_JOB)
    const place = (jobSeq ?? 0) - firstJob
    if (isFirstEntry(record, batch.newJobs[place])) {
      writer.rawUint32(0)
      writer.rawUint32((jobIds[place] as number) - JOB_AT.id)
      writer.rawDouble(record.at)
    } else writer.record(seq, record)
  })
  return { bytes: writer.finish(), jobIds }
}

/** Whether all of an entry but its number and time is in the facts of a new job. */
function isFirstEntry(record: JournalRecord, job: WriteBatch['newJobs'][number] | undefined) {
  if (record.action !== FIRST_ACTION || job?.row.seq !== record.jobSeq) return false
  const { id, caller } = job.row
  if (record.subject !== id || record.actor !== caller) return false
  for (const _field in record.details) return false
  return Number.isSafeInteger(record.at)
}

/** What is hashed of an entry, which has this number; a view where it stands as such. */
export function recordIn({ bytes, at }: RowAt, seq: number): Uint8Array {
  const record = at + ENTRY_AT.record
  if (bytes.readUInt32LE(record) > 0) return bytesAt(bytes, record)
  const facts = bytes.readUInt32LE(at + FIRST_ENTRY_AT.facts)
  const idAt = (place: number): string =>
    toHex(bytes.subarray(facts + place, facts + place + ID_BYTES))
  const { buffer, end } = appendAuditBytes(
    seq,
    {
      at: bytes.readDoubleLE(at + FIRST_ENTRY_AT.at),
      actor: idAt(JOB_AT.caller),
      action: FIRST_ACTION,
      subject: idAt(JOB_AT.id),
      details: {},
    },
    Buffer.allocUnsafe(FIRST_RECORD_BYTES),
    0,
  )
  return buffer.subarray(0, end)
}

/** More than it takes: keys and words, two ids as text, two numbers. */
const FIRST_RECORD_BYTES = 256

function firstEndOf({ newJobs, jobs }: WriteBatch): number | null {
  let first = Number.POSITIVE_INFINITY
  for (const { row } of newJobs) if (row.endedAt !== null) first = Math.min(first, row.endedAt)
  for (const { endedAt } of jobs) if (endedAt !== null) first = Math.min(first, endedAt)
  return Number.isFinite(first) ? first : null
}

/** Returns where its id stands. */
function encodeJob({ row, payload }: WriteBatch['newJobs'][number]): number {
  writer.rawDouble(row.seq)
  const idAt = writer.rawId(row.id)
  writer.rawIdAlike(row.caller)
  if (typeof row.txHash === 'string') writer.rawId(row.txHash)
  else writer.rawIdBytes(row.txHash)
  writer.rawBytes(payload)
  putJob(writer, row)
  return idAt
}

function encodeJobState(row: WriteBatch['jobs'][number], idAt?: number): void {
  writer.rawDouble(row.seq)
  encodeId(row.id, idAt)
  writer.rawByte(JOB_STATUSES.indexOf(row.status))
  writer.rawByte(row.endedAt === null ? 0 : 1)
  putJobState(writer, row)
}

/** Returns where its id stands. */
function encodeLease(row: WriteBatch['newLeases'][number]): number {
  writer.rawDouble(row.jobSeq)
  writer.rawDouble(row.attempt)
  const idAt = writer.rawId(row.id)
  putLease(writer, row)
  return idAt
}

function encodeLeaseState(row: WriteBatch['leases'][number], idAt?: number): void {
  writer.rawDouble(row.jobSeq)
  writer.rawDouble(row.attempt)
  encodeId(row.id, idAt)
  writer.rawByte(LEASE_STATUSES.indexOf(row.status))
  putLeaseState(writer, row)
}

function encodeId(id: string, standsAt: number | undefined): void {
  if (standsAt === undefined) writer.rawId(id)
  else writer.rawIdAt(standsAt)
}

function section<Row>(rows: readonly Row[], put: (row: Row, i: number) => void): void {
  writer.rawDouble(rows.length)
  for (let i = 0; i < rows.length; i++) {
    const at = writer.openRow()
    put(rows[i] as Row, i)
    writer.closeRow(at)
  }
}

/** Refuses a batch that another version wrote in another way. */
export function refuseOtherFormat(batch: Uint8Array): void {
  if (batch[0] === FORMAT) return
  throw new FairleadError(
    'StoreUnavailable',
    `its log is of format ${batch[0]}, and this Fairlead reads format ${FORMAT}; ` +
      'start and stop it once with the version that wrote it, which empties the log',
  )
}

/** Finds the rows of a batch, in the order in which they were written. */
export function rowsOf(given: Uint8Array): BatchRows {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
  refuseOtherFormat(bytes)
  const reader = new CellReader()
  let at = 1
  const cell = () => {
    const value = reader.seek(bytes, at).cell()
    at = reader.at
    return value
  }
  const rows = () => {
    const places: number[] = []
    const count = bytes.readDoubleLE(at)
    at += NUMBER_BYTES
    for (let i = 0; i < count; i++) {
      places.push(at + LENGTH_BYTES)
      at += LENGTH_BYTES + bytes.readUInt32LE(at)
    }
    return places
  }
  return {
    bytes,
    pruneEndedBefore: cell() as number | null,
    pruneResultsBefore: cell() as number | null,
    eraseEndedFrom: cell() as number | null,
    eraseEndedBefore: cell() as number | null,
    cutJournalAt: cell() as number | null,
    firstEnd: cell() as number | null,
    newJobs: rows(),
    newJobStates: rows(),
    jobs: rows(),
    newLeases: rows(),
    newLeaseStates: rows(),
    leases: rows(),
    providers: rows(),
    results: rows(),
    failures: rows(),
    shares: rows(),
    lanes: rows(),
    rounds: rows(),
    meta: rows(),
    firstEntry: cell() as number | null,
    entries: rows(),
  }
}

/** Bytes that stand behind their length; a view. */
export function bytesAt(bytes: Buffer, at: number): Buffer {
  return bytes.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + bytes.readUInt32LE(at))
}
