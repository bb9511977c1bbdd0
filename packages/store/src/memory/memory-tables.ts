import { type AuditEntry, FairleadError, hasEnded, type JobRow } from '@fairlead/core'
import {
  compareAscii,
  type EndedRange,
  type JobFilter,
  type KeyPrints,
  type SettlementRow,
  type Snapshot,
  type StoreReads,
  type Tables,
  type WriteBatch,
} from '@fairlead/core/internal'
import { isIdPrefix } from '../id-prefix.ts'
import { everyRow } from './every-row.ts'
import {
  emptyRows,
  failuresOf,
  findJob,
  findLease,
  findResult,
  keyedRowsInOrder,
  leasesByStart,
  metaByName,
  providersById,
  type StoredJob,
  type StoredRows,
  sharesInOrder,
  txKey,
} from './stored-rows.ts'
import { Transaction } from './transaction.ts'
import { refuseIf, writeBatch } from './write-batch.ts'

/**
 * Tables in memory: what the port means, without a file. Other tables are compared with them, and tests and simulations
 * run on them. They copy what they are given; what they give is their own and not to be changed.
 *
 * Everything that was applied is durable at once. The state lasts as long as the object, so closing does nothing: for a
 * restart, use it again.
 */
export class MemoryTables implements Tables {
  readonly #tables: StoredRows = emptyRows()
  #batch: number
  #hasErased = false

  /** Tables that are as after a batch of which they have no rows. */
  constructor(batch = 0) {
    this.#batch = batch
  }

  readonly read: StoreReads = {
    job: async (id) => findJob(this.#tables, id)?.row ?? null,
    jobsByTx: async (keys) =>
      keys.map((key) => {
        const job = this.#job(this.#tables.seqByTx.get(txKey(key)))
        return job === undefined ? null : { id: job.row.id, payload: job.payload }
      }),
    payloads: async (seqs) => seqs.map((seq) => this.#job(seq)?.payload ?? null),
    jobs: async (filter) => listJobs(this.#tables, filter),
    leases: async (jobId) => {
      const leases = findJob(this.#tables, jobId)?.leases.values() ?? []
      return [...leases].sort((a, b) => a.attempt - b.attempt)
    },
    failures: async (jobId) => {
      const job = findJob(this.#tables, jobId)
      return job === null ? [] : failuresOf(job)
    },
    lease: async (id) => findLease(this.#tables, id),
    result: async (jobId) => findResult(this.#tables, jobId),
    round: async (height, kind) => this.#tables.rounds.get(height)?.get(kind) ?? null,
    settlements: async (beforeEpoch, limit) =>
      newestFirst(this.#tables)
        .filter(({ epochId }) => epochId < beforeEpoch)
        .slice(0, Math.max(0, limit))
        .map(({ epochId, batchId, at, batch, policy }) => ({
          epochId,
          batchId,
          at,
          batch,
          policy,
        })),
    settlementParts: async (epochId) => {
      const { parts = [] } = this.#tables.settlements.get(epochId) ?? {}
      return [...parts].sort((a, b) => compareAscii(a.providerId, b.providerId) || a.part - b.part)
    },
    journal: async (afterSeq, limit) => {
      const { journal } = this.#tables
      const first = Math.max(0, afterSeq + 1 - firstSeq(journal))
      return journal.slice(first, first + Math.max(0, limit))
    },
    timeline: async (jobId) => {
      const first = firstSeq(this.#tables.journal)
      return (findJob(this.#tables, jobId)?.timeline ?? []).filter(({ seq }) => seq >= first)
    },
    assignmentsSince: async (atMs) => listAssignments(this.#tables, atMs),
    everything: async () => everyRow(this.#tables),
  }

  async load(): Promise<Snapshot> {
    const tables = this.#tables
    const alive = [...tables.jobs.values()].filter(({ row }) => !hasEnded(row.status))
    return {
      batch: this.#batch,
      jobs: alive.map(({ row }) => row).sort(bySeq),
      leases: leasesByStart(alive),
      providers: providersById(tables),
      shares: sharesInOrder(tables),
      lanes: keyedRowsInOrder(tables),
      meta: Object.fromEntries(metaByName(tables)),
      due: newestFirst(tables)[0]?.due ?? new Uint8Array(),
      lastEntry: tables.journal.at(-1)?.seq ?? 0,
    }
  }

  /** Done before it returns, so batches are applied in the order of the calls. */
  async apply(rows: WriteBatch, batch: number): Promise<number> {
    const tx = new Transaction()
    try {
      refuseIf(batch < this.#batch, `batch ${batch} comes behind batch ${this.#batch}`)
      writeBatch(this.#tables, rows, tx)
    } catch (cause) {
      tx.rollBack()
      throw unavailable(cause)
    }
    this.#batch = batch
    this.#hasErased ||= rows.eraseEnded !== null
    return batch
  }

  async sync(): Promise<number> {
    return this.#batch
  }

  async keyPrints(afterSeq: number, limit: number): Promise<KeyPrints> {
    const rows = [...this.#tables.jobs.values()]
      .map(({ row }) => row)
      .filter(({ seq }) => seq > afterSeq)
      .sort(bySeq)
      .slice(0, limit)
    const start = (id: string): number => Number.parseInt(id.slice(2, 10), 16)
    return {
      prints: Uint32Array.from(rows, ({ caller, txHash }) => start(caller) ^ start(txHash)),
      lastSeq: rows.length < limit ? null : (rows.at(-1)?.seq ?? null),
    }
  }

  async scrub(): Promise<number | null> {
    const hasErased = this.#hasErased
    this.#hasErased = false
    return hasErased ? this.#batch : null
  }

  async close(): Promise<void> {}

  #job(seq: number | undefined) {
    return seq === undefined ? undefined : this.#tables.jobs.get(seq)
  }
}

function listJobs(tables: StoredRows, filter: JobFilter): JobRow[] {
  const { status, providerId, caller, kind, model, idPrefix } = filter
  const { afterHeight, afterSeq, beforeSeq, ended, limit } = filter
  const rows: JobRow[] = []
  if (idPrefix !== undefined && !isIdPrefix(idPrefix)) return rows
  for (const job of tables.jobs.values()) {
    const { row } = job
    const fits =
      fitsOptions(job, filter) &&
      row.seq > afterSeq &&
      (ended === undefined || isEndedIn(row, ended)) &&
      (beforeSeq === undefined || row.seq < beforeSeq) &&
      (status === undefined || row.status === status) &&
      (providerId === undefined || row.providerId === providerId) &&
      (caller === undefined || row.caller === caller) &&
      (kind === undefined || row.kind === kind) &&
      (model === undefined || row.model === model) &&
      (idPrefix === undefined || row.id.startsWith(idPrefix)) &&
      (afterHeight === undefined || row.enqueueHeight > afterHeight)
    if (fits) rows.push(row)
  }
  rows.sort(ended === undefined ? bySeq : byEnd)
  return (beforeSeq === undefined ? rows : rows.reverse()).slice(0, limit)
}

function isEndedIn({ endedAt, seq }: JobRow, { after, before }: EndedRange): boolean {
  if (endedAt === null || endedAt >= before) return false
  return endedAt > after.at || (endedAt === after.at && seq > after.seq)
}

function listAssignments(tables: StoredRows, atMs: number) {
  const recent = leasesByStart(tables.jobs.values()).filter(({ tStart }) => tStart >= atMs)
  return recent.flatMap(({ jobSeq, tStart }) => {
    const job = tables.jobs.get(jobSeq)
    return job === undefined ? [] : [{ caller: job.row.caller, at: tStart }]
  })
}

function fitsOptions(job: StoredJob, filter: JobFilter): boolean {
  const { tag, dedupeKey, schedule, txHash, error, since = 0, until = Infinity } = filter
  const { options, origin, enqueueTs, txHash: own } = job.row
  return (
    (tag === undefined || options?.tags?.includes(tag) === true) &&
    (dedupeKey === undefined || options?.dedupeKey === dedupeKey) &&
    (schedule === undefined || origin?.schedule === schedule) &&
    (txHash === undefined || own === txHash) &&
    (error === undefined || failuresOf(job).at(-1)?.code === error) &&
    enqueueTs >= since &&
    enqueueTs < until
  )
}

function firstSeq(journal: readonly AuditEntry[]): number {
  return journal[0]?.seq ?? 1
}

function byEnd(a: JobRow, b: JobRow): number {
  return (a.endedAt ?? 0) - (b.endedAt ?? 0) || a.seq - b.seq
}

function bySeq(a: JobRow, b: JobRow): number {
  return a.seq - b.seq
}

/** A refusal of ours, or of the journal's chain, is the batch's fault; anything else is not foreseen. */
function unavailable(cause: unknown): FairleadError {
  const reason = cause instanceof FairleadError ? 'constraint' : 'failed'
  const why = cause instanceof Error ? cause.message : 'unknown error'
  const message = `nothing of the batch was applied: ${why}`
  return new FairleadError('StoreUnavailable', message, { reason }, { cause })
}

function newestFirst({ settlements }: StoredRows): SettlementRow[] {
  return [...settlements.values()].sort((a, b) => b.epochId - a.epochId)
}
