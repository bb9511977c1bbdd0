import { type AuditEntry, FairleadError, hasEnded, type JobRow, type Store } from '@fairlead/core'
import type { JobFilter, Snapshot, StoreReads, WriteBatch } from '@fairlead/core/internal'
import { isIdPrefix } from '../id-prefix.ts'
import { everyRow } from './every-row.ts'
import {
  emptyTables,
  failuresOf,
  findJob,
  findLease,
  findResult,
  keyedRowsInOrder,
  leasesByStart,
  metaByName,
  providersById,
  sharesInOrder,
  type Tables,
  txKey,
} from './tables.ts'
import { Transaction } from './transaction.ts'
import { writeBatch } from './write-batch.ts'

/**
 * A store in memory: what the port means, without a file. Other stores are compared with it, and tests
 * and simulations run on it. What it is given it copies; what it gives is its own and not to be changed.
 *
 * Its state lasts as long as the object, so closing does nothing: for a restart, use it again.
 */
export class MemoryStore implements Store {
  readonly #tables: Tables = emptyTables()
  #isRefusing = false

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
      jobs: alive.map(({ row }) => row).sort(bySeq),
      leases: leasesByStart(alive),
      providers: providersById(tables),
      shares: sharesInOrder(tables),
      lanes: keyedRowsInOrder(tables),
      meta: Object.fromEntries(metaByName(tables)),
      lastEntry: tables.journal.at(-1)?.seq ?? 0,
    }
  }

  /** Done before it returns, so commits are carried out in the order of the calls. */
  async commit(batch: WriteBatch): Promise<void> {
    if (this.#isRefusing) throw unavailable(new Error('the batch before it was refused'))
    const tx = new Transaction()
    try {
      writeBatch(this.#tables, batch, tx)
    } catch (cause) {
      tx.rollBack()
      // Until whoever gave the batch has heard of it.
      this.#isRefusing = true
      queueMicrotask(() => {
        this.#isRefusing = false
      })
      throw unavailable(cause)
    }
  }

  async close(): Promise<void> {}

  #job(seq: number | undefined) {
    return seq === undefined ? undefined : this.#tables.jobs.get(seq)
  }
}

function listJobs(tables: Tables, filter: JobFilter): JobRow[] {
  const { status, providerId, caller, kind, model, idPrefix } = filter
  const { afterHeight, afterSeq, beforeSeq, limit } = filter
  const rows: JobRow[] = []
  if (idPrefix !== undefined && !isIdPrefix(idPrefix)) return rows
  for (const { row } of tables.jobs.values()) {
    const fits =
      row.seq > afterSeq &&
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
  rows.sort(bySeq)
  return (beforeSeq === undefined ? rows : rows.reverse()).slice(0, limit)
}

function listAssignments(tables: Tables, atMs: number) {
  const recent = leasesByStart(tables.jobs.values()).filter(({ tStart }) => tStart >= atMs)
  return recent.flatMap(({ jobSeq, tStart }) => {
    const job = tables.jobs.get(jobSeq)
    return job === undefined ? [] : [{ caller: job.row.caller, at: tStart }]
  })
}

function firstSeq(journal: readonly AuditEntry[]): number {
  return journal[0]?.seq ?? 1
}

function bySeq(a: JobRow, b: JobRow): number {
  return a.seq - b.seq
}

/** A refusal of ours, or of the journal's chain, is the batch's fault; anything else is not foreseen. */
function unavailable(cause: unknown): FairleadError {
  const reason = cause instanceof FairleadError ? 'constraint' : 'failed'
  const why = cause instanceof Error ? cause.message : 'unknown error'
  const message = `nothing of the batch was stored: ${why}`
  return new FairleadError('StoreUnavailable', message, { reason }, { cause })
}
