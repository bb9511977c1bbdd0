import {
  type CborMap,
  decodeCbor,
  EMPTY_AUDIT,
  encodeCbor,
  type FailureRow,
  FairleadError,
  hasEnded,
  isLive,
  JOB_STATUSES,
  LEASE_STATUSES,
  type LeaseRow,
  PROVIDER_STATUSES,
  type ResultRow,
} from '@fairlead/core'
import {
  appendAudit,
  type EndedSpan,
  FAILURES_KEPT,
  type JobState,
  type JournalRecord,
  type KeyedRow,
  type LeaseState,
  MATCH_ORDERS,
  type NewJobRow,
  type ProviderRow,
  type PrunedJobs,
  ROUNDS_KEPT,
  type RoundRow,
  resultWithoutPeople,
  type SettlementRow,
  type ShareRow,
  storedRow,
  type WriteBatch,
  withoutPeople,
} from '@fairlead/core/internal'
import { copyOf } from '../copy-of.ts'
import { type StoredJob, type StoredRows, txKey } from './stored-rows.ts'
import type { Transaction } from './transaction.ts'

/** Writes a batch, or throws at its first row that breaks a rule; what it wrote is in the transaction. */
export function writeBatch(tables: StoredRows, batch: WriteBatch, tx: Transaction): void {
  // First, for new jobs that use the names of deleted ones; and last, for jobs that end in this batch
  // with an end before the time (STORE-10). A result may outlive its job, so it is erased before that goes.
  erase(tables, batch.eraseEnded, tx)
  prune(tables, batch, tx)
  for (const { row, payload } of batch.newJobs) insertJob(tables, row, payload, tx)
  for (const change of batch.jobs) changeJob(tables, change, tx)
  for (const change of batch.leases) changeLease(tables, change, tx)
  for (const row of batch.newLeases) insertLease(tables, row, tx)
  refuseTwoLive(tables, batch)
  for (const row of batch.providers) writeProvider(tables, row, tx)
  for (const row of batch.results) writeResult(tables, row, tx)
  for (const row of batch.failures) writeFailure(tables, row, tx)
  for (const row of batch.shares) writeShare(tables, row, tx)
  for (const lane of batch.clearedLanes) clearLane(tables, lane, tx)
  for (const row of batch.lanes) writeKeyedRow(tables, row, tx)
  for (const row of batch.rounds) insertRound(tables, row, tx)
  dropOldRounds(tables, tx)
  for (const row of batch.settlements) insertSettlement(tables, row, tx)
  for (const record of batch.journal) append(tables, record, tx)
  for (const [name, value] of Object.entries(batch.meta)) tx.set(tables.meta, name, value)
  erase(tables, batch.eraseEnded, tx)
  for (const pruned of batch.prunedJobs) pruneNamed(tables, pruned, tx)
  prune(tables, batch, tx)
  if (batch.cutJournalAt !== null) cutJournal(tables, batch.cutJournalAt, tx)
}

function insertJob(
  tables: StoredRows,
  given: NewJobRow,
  payload: Uint8Array,
  tx: Transaction,
): void {
  const row = storedRow(given)
  refuseIf(tables.jobs.has(row.seq), `there is a job ${row.seq} already`)
  refuseIf(tables.seqById.has(row.id), `there is a job ${row.id} already`)
  const isKnown = typeof given.txHash === 'string' && tables.seqByTx.has(txKey(row))
  refuseIf(isKnown, `its caller has used ${row.txHash} before`)
  refuseOddState(row)
  const job: StoredJob = {
    row: copyOf(row),
    payload: copyOf(payload),
    leases: new Map(),
    failures: new Map(),
    timeline: [],
  }
  tx.set(tables.jobs, row.seq, job)
  tx.set(tables.seqById, row.id, row.seq)
  // Nobody can repeat a hash that the engine drew, so there is nothing to find by it.
  if (typeof given.txHash === 'string') tx.set(tables.seqByTx, txKey(row), row.seq)
}

function changeJob(tables: StoredRows, change: WriteBatch['jobs'][number], tx: Transaction): void {
  const job = jobOf(tables, change.seq, change.id)
  const isOver = hasEnded(job.row.status)
  refuseIf(isOver && job.row.status !== change.status, `job ${change.id} has ended`)
  refuseOddState(change)
  tx.set(tables.jobs, change.seq, { ...job, row: { ...job.row, ...jobState(change) } })
}

function refuseOddState({ status, endedAt }: JobState): void {
  refuseIf(!JOB_STATUSES.includes(status), `${status} is no status of a job`)
  refuseIf(hasEnded(status) !== (endedAt !== null), 'an end is what an ended job has, and no other')
}

/** Nothing else of a change counts: facts stay (STORE-7). */
function jobState(change: JobState): JobState {
  const { status, providerId, attempt, retries, declines, notBefore, firstAssignedAt } = change
  const { workerLosses, endedAt, reason, proofAwaitedSince, denials, releasedAt } = change
  const run = { status, providerId, attempt, retries, declines, notBefore, firstAssignedAt }
  const end = { endedAt, reason, proofAwaitedSince, releasedAt }
  return { ...run, workerLosses, ...end, denials: copyOf(denials) }
}

function insertLease(tables: StoredRows, row: LeaseRow, tx: Transaction): void {
  const { leases } = jobOf(tables, row.jobSeq, row.jobId)
  refuseIf(tables.leaseKeys.has(row.id), `there is a lease ${row.id} already`)
  refuseIf(leases.has(row.attempt), `attempt ${row.attempt} of ${row.jobId} is another lease`)
  refuseIf(!LEASE_STATUSES.includes(row.status), `${row.status} is no status of a lease`)
  tx.set(leases, row.attempt, copyOf(row))
  tx.set(tables.leaseKeys, row.id, { jobSeq: row.jobSeq, attempt: row.attempt })
}

function changeLease(
  tables: StoredRows,
  change: WriteBatch['leases'][number],
  tx: Transaction,
): void {
  const { id, jobSeq, attempt, status } = change
  const leases = tables.jobs.get(jobSeq)?.leases
  const row = leases?.get(attempt)
  if (leases === undefined || row?.id !== id) throw refused(`there is no lease ${id}`)
  refuseIf(!LEASE_STATUSES.includes(status), `${status} is no status of a lease`)
  refuseIf(!isLive(row.status) && row.status !== status, `lease ${id} has ended`)
  tx.set(leases, attempt, { ...row, ...leaseState(change) })
}

function leaseState(change: LeaseState): LeaseState {
  const { status, tDeadline, timeoutAt, renewals, isAcked, digest, ackTimeoutMs, workerId } = change
  return { status, tDeadline, timeoutAt, renewals, isAcked, digest, ackTimeoutMs, workerId }
}

/** After all leases are written: in one batch a lease may end and the next begin, in any order. */
function refuseTwoLive(tables: StoredRows, batch: WriteBatch): void {
  for (const lease of [...batch.leases, ...batch.newLeases]) {
    if (!isLive(lease.status)) continue
    const leases = tables.jobs.get(lease.jobSeq)?.leases.values() ?? []
    const live = [...leases].filter(({ status }) => isLive(status))
    refuseIf(live.length > 1, `job ${lease.jobSeq} would have two live leases`)
  }
}

function writeProvider(tables: StoredRows, row: ProviderRow, tx: Transaction): void {
  refuseIf(!PROVIDER_STATUSES.includes(row.status), `${row.status} is no status of a provider`)
  tx.set(tables.providers, row.id, copyOf(row))
}

function writeResult(tables: StoredRows, row: ResultRow, tx: Transaction): void {
  jobOf(tables, row.jobSeq, row.jobId)
  tx.set(tables.results, row.jobSeq, copyOf(row))
  const seqs = tables.seqsWithResult.get(row.jobId) ?? []
  if (seqs.includes(row.jobSeq)) return
  tx.set(
    tables.seqsWithResult,
    row.jobId,
    [...seqs, row.jobSeq].sort((a, b) => a - b),
  )
}

/** Those of old attempts go (STORE-10). */
function writeFailure(tables: StoredRows, row: FailureRow, tx: Transaction): void {
  const { failures } = jobOf(tables, row.jobSeq, row.jobId)
  for (const attempt of failures.keys()) {
    if (attempt <= row.attempt - FAILURES_KEPT) tx.delete(failures, attempt)
  }
  tx.set(failures, row.attempt, copyOf(row))
}

function writeShare(tables: StoredRows, row: ShareRow, tx: Transaction): void {
  const key = `${row.kind} ${row.caller}`
  if (row.finish === null) tx.delete(tables.shares, key)
  else tx.set(tables.shares, key, copyOf(row))
}

function writeKeyedRow(tables: StoredRows, { lane, key, value }: KeyedRow, tx: Transaction): void {
  const name = JSON.stringify([lane, key])
  if (value === null) tx.delete(tables.lanes, name)
  else tx.set(tables.lanes, name, { lane, key, value: copyOf(value) })
}

function clearLane({ lanes }: StoredRows, lane: string, tx: Transaction): void {
  for (const [name, row] of lanes) if (row.lane === lane) tx.delete(lanes, name)
}

function insertSettlement({ settlements }: StoredRows, row: SettlementRow, tx: Transaction): void {
  refuseIf(settlements.has(row.epochId), `epoch ${row.epochId} is settled already`)
  tx.set(settlements, row.epochId, copyOf(row))
}

function insertRound({ rounds }: StoredRows, row: RoundRow, tx: Transaction): void {
  refuseIf(!MATCH_ORDERS.includes(row.order), `${row.order} is no order of a round`)
  const kinds = rounds.get(row.height) ?? new Map()
  refuseIf(kinds.has(row.kind), `there is a round ${row.height} of ${row.kind} already`)
  tx.set(kinds, row.kind, copyOf(row))
  tx.set(rounds, row.height, kinds)
}

function dropOldRounds({ rounds }: StoredRows, tx: Transaction): void {
  while (rounds.size > ROUNDS_KEPT) {
    let oldest = Number.POSITIVE_INFINITY
    for (const height of rounds.keys()) if (height < oldest) oldest = height
    tx.delete(rounds, oldest)
  }
}

function append(tables: StoredRows, record: JournalRecord, tx: Transaction): void {
  const { journal } = tables
  const head = journal.at(-1) ?? EMPTY_AUDIT
  refuseIf(record.seq !== head.seq + 1, `entry ${head.seq + 1} is due, not ${record.seq}`)
  const entry = appendAudit(head, record)
  // What was hashed is what is kept: canonical CBOR knows 1n and 1 as one value (STORE-1).
  const details = copyOf(decodeCbor(encodeCbor(entry.details)) as CborMap)
  const kept = { ...entry, details }
  tx.append(journal, kept)
  const job = record.jobSeq === null ? undefined : tables.jobs.get(record.jobSeq)
  if (job !== undefined) tx.append(job.timeline, kept)
}

function cutJournal({ journal }: StoredRows, seq: number, tx: Transaction): void {
  const head = journal.at(-1) ?? EMPTY_AUDIT
  refuseIf(seq >= head.seq, `entry ${seq} is the newest or not there, and one has to stay`)
  tx.cut(journal, Math.max(0, seq + 1 - (journal[0]?.seq ?? 1)))
}

/** Nothing but where and when stays of what these registrations said (STORE-16). */
function erase({ jobs, results }: StoredRows, span: EndedSpan | null, tx: Transaction): void {
  if (span === null) return
  for (const job of jobs.values()) {
    const { kind, endedAt, seq } = job.row
    if (kind !== 'registration' || endedAt === null) continue
    if (endedAt < span.from || endedAt >= span.before) continue
    tx.set(jobs, seq, { ...job, payload: copyOf(withoutPeople(job.payload)) })
    const result = results.get(seq)
    if (result !== undefined) {
      tx.set(results, seq, copyOf({ ...result, ...resultWithoutPeople(result) }))
    }
  }
}

function prune(tables: StoredRows, batch: WriteBatch, tx: Transaction): void {
  if (batch.pruneEndedBefore !== null) pruneJobs(tables, batch.pruneEndedBefore, tx)
  if (batch.pruneResultsBefore !== null) pruneResults(tables, batch.pruneResultsBefore, tx)
}

function pruneJobs(tables: StoredRows, before: number, tx: Transaction): void {
  for (const job of tables.jobs.values()) {
    if (job.row.endedAt !== null && job.row.endedAt < before) pruneJob(tables, job, tx)
  }
}

function pruneNamed(
  tables: StoredRows,
  { seqs, resultsBefore }: PrunedJobs,
  tx: Transaction,
): void {
  for (const seq of seqs) {
    const job = tables.jobs.get(seq)
    if (job === undefined || job.row.endedAt === null) continue
    pruneJob(tables, job, tx)
    const result = tables.results.get(seq)
    if (result !== undefined && result.at < (resultsBefore ?? 0)) dropResult(tables, result, tx)
  }
}

function pruneJob(tables: StoredRows, { row, leases }: StoredJob, tx: Transaction): void {
  tx.delete(tables.jobs, row.seq)
  tx.delete(tables.seqById, row.id)
  // Another job may have the same key, if this one has a hash that the engine drew.
  if (tables.seqByTx.get(txKey(row)) === row.seq) tx.delete(tables.seqByTx, txKey(row))
  for (const { id } of leases.values()) tx.delete(tables.leaseKeys, id)
}

/** The result of a job that is there stays, however old it is. */
function pruneResults(tables: StoredRows, before: number, tx: Transaction): void {
  for (const result of tables.results.values()) {
    if (result.at < before && !tables.jobs.has(result.jobSeq)) dropResult(tables, result, tx)
  }
}

function dropResult(
  { results, seqsWithResult }: StoredRows,
  { jobId, jobSeq }: ResultRow,
  tx: Transaction,
): void {
  tx.delete(results, jobSeq)
  const left = (seqsWithResult.get(jobId) ?? []).filter((seq) => seq !== jobSeq)
  if (left.length === 0) tx.delete(seqsWithResult, jobId)
  else tx.set(seqsWithResult, jobId, left)
}

/** Leases, results and failures are written of jobs that are there; anything else is a mistake of the engine. */
function jobOf(tables: StoredRows, seq: number, id: string): StoredJob {
  const job = tables.jobs.get(seq)
  if (job?.row.id !== id) throw refused(`there is no job ${seq} with the id ${id}`)
  return job
}

export function refuseIf(condition: boolean, why: string): void {
  if (condition) throw refused(why)
}

function refused(why: string): FairleadError {
  return new FairleadError('InvalidState', why)
}
