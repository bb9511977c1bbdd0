import { FairleadError, JOB_STATUSES, LEASE_STATUSES } from '@fairlead/core'
import {
  type EndedSpan,
  FAILURES_KEPT,
  invariant,
  ROUNDS_KEPT,
  resultWithoutPeople,
  withoutPeople,
} from '@fairlead/core/internal'
import {
  FAILURE_AT,
  JOB_AT,
  JOB_STATE_AT,
  LEASE_AT,
  LEASE_STATE_AT,
  RESULT_AT,
  type RowAt,
} from './batch-codec.ts'
import { Bulk, findMany } from './bulk.ts'
import { Callers } from './callers.ts'
import { CellReader } from './cell-codec.ts'
import type { SqlValue } from './driver.ts'
import { chainBlocks, endOf, type JournalEnd, tailOf } from './journal-blocks.ts'
import { idBytes, type PendingJob } from './pending-job.ts'
import type { SmallTableRows } from './pending-others.ts'
import { attemptIn, payloadIn } from './pending-rows.ts'
import { blockRow, broughtOf, payloadOf, WIDTH } from './rows.ts'
import type { Statements } from './statements.ts'
import type { StoredKeyHashes } from './stored-key-hashes.ts'

/** Cells of an insert: the keys of the row, its facts, its status and state, and of a job its entries. */
const JOB_COLUMNS = 4 + WIDTH.job + 1 + WIDTH.jobState + 1
const LEASE_COLUMNS = 3 + WIDTH.lease + 1 + WIDTH.leaseState

/** Ended jobs, and results of deleted jobs, from before these times are deleted; null deletes none. */
export interface PruneTimes {
  readonly endedBefore: number | null
  readonly resultsBefore: number | null
}

/** Writes into the tables; the transaction around it is the caller's. */
export class TableWriter {
  readonly #statements: Statements
  readonly #callers: Callers
  readonly #reader = new CellReader()
  readonly #jobs: Bulk
  readonly #payloads: Bulk
  readonly #leases: Bulk
  readonly #results: Bulk
  readonly #failures: Bulk
  readonly #keyHashes: StoredKeyHashes
  /** Where the journal stands; null when that has to be looked up. */
  #end: JournalEnd | null = null

  constructor(statements: Statements, keyHashes: StoredKeyHashes) {
    this.#statements = statements
    this.#keyHashes = keyHashes
    this.#callers = new Callers(statements)
    this.#jobs = new Bulk(statements, { one: 'insert-job', many: 'insert-jobs-20' })
    this.#payloads = new Bulk(statements, { one: 'insert-payload', many: 'insert-payloads-20' })
    this.#leases = new Bulk(statements, { one: 'insert-lease', many: 'insert-leases-20' })
    this.#results = new Bulk(statements, { one: 'write-result', many: 'write-results-20' })
    this.#failures = new Bulk(statements, { one: 'write-failure', many: 'write-failures-20' })
  }

  writeJobs(jobs: readonly PendingJob[]): void {
    const newJobs: SqlValue[] = []
    const payloads: SqlValue[] = []
    const newLeases: SqlValue[] = []
    const results: SqlValue[] = []
    const failures: SqlValue[] = []
    for (const job of jobs) {
      if (job.facts === null) this.#updateJob(job)
      else {
        this.#addJob(newJobs, job, job.facts)
        payloads.push(job.seq, payloadIn(job.facts))
      }
      this.#writeLeases(job, newLeases)
      if (job.result !== null) {
        results.push(job.seq)
        this.#cells(results, job.result, RESULT_AT.cells, WIDTH.result)
      }
      this.#addFailures(failures, job)
    }
    this.#jobs.write(newJobs, JOB_COLUMNS)
    this.#payloads.write(payloads, 2)
    this.#leases.write(newLeases, LEASE_COLUMNS)
    this.#results.write(results, 1 + WIDTH.result)
    this.#failures.write(failures, 2 + WIDTH.failure)
  }

  writeKeyedRows(rows: readonly RowAt[]): void {
    for (const row of rows) {
      const cells = this.#cells([], row, 0, WIDTH.lane)
      if (cells[2] === null) this.#run('forget-lane', cells.slice(0, 2))
      else this.#run('write-lane', cells)
    }
  }

  writeRounds(rows: readonly RowAt[]): void {
    for (const row of rows) this.#run('insert-round', this.#cells([], row, 0, WIDTH.round))
  }

  /** Looks at all that are kept: not to be called for each few that are written. */
  dropOldRounds(): void {
    this.#run('drop-old-rounds', [ROUNDS_KEPT])
  }

  writeSmallTables({ providers, shares, meta }: SmallTableRows): void {
    for (const row of providers.values()) {
      this.#run('write-provider', this.#cells([], row, 0, WIDTH.provider))
    }
    for (const row of shares.values()) this.#writeShare(this.#cells([], row, 0, WIDTH.share))
    for (const row of meta.values()) this.#run('write-meta', this.#cells([], row, 0, WIDTH.meta))
  }

  /** Chains records to the journal. */
  append(records: readonly Uint8Array[]): void {
    const { blocks, end } = chainBlocks(this.journalEnd, records)
    for (const block of blocks) {
      this.#run('append-journal', [block.first, block.last, block.entries])
    }
    this.#end = end
  }

  /** Deletes jobs with all that goes with them, and the results of deleted jobs that are due (STORE-10). */
  prune({ endedBefore, resultsBefore }: PruneTimes): void {
    if (endedBefore !== null) this.pruneJobs(endedBefore, resultsBefore)
    if (resultsBefore !== null) this.pruneKeptResults(resultsBefore)
  }

  /** Deletes jobs. Their results go if they are due; the others stay to be found. */
  pruneJobs(endedBefore: number, resultsBefore: number | null): void {
    this.#keyHashes.prune(endedBefore)
    for (const name of ['keep-results', 'prune-results']) {
      this.#run(name, [endedBefore, resultsBefore])
    }
    for (const name of ['prune-payloads', 'prune-leases', 'prune-failures', 'prune-jobs']) {
      this.#run(name, [endedBefore])
    }
  }

  /** Deletes results that outlived their jobs. */
  pruneKeptResults(before: number): void {
    for (const name of ['prune-kept-results', 'forget-kept-results']) this.#run(name, [before])
  }

  /** Of registrations that ended in a span nothing but where and when stays (STORE-16). */
  erase({ from, before }: EndedSpan): void {
    const ended = this.#statements.get('find-ended-registrations').all(from, before)
    const seqs = ended.map(({ seq }) => seq as number)
    for (const columns of findMany(this.#statements, 'find-payloads-20', seqs)) {
      const left = withoutPeople(payloadOf(columns))
      this.#run('replace-payload', [left, columns['job'] as number])
    }
    for (const columns of findMany(this.#statements, 'find-outputs-20', seqs)) {
      const { output, meta } = resultWithoutPeople(broughtOf(columns))
      this.#run('replace-output', [output, meta, columns['job'] as number])
    }
  }

  /** Deletes entries of the journal up to a number (STORE-15). */
  cutJournal(seq: number): void {
    if (seq >= this.journalEnd.seq) {
      throw new FairleadError(
        'InvalidState',
        `entry ${seq} is the newest or not there; one has to stay`,
      )
    }
    const columns = this.#statements.get('list-journal').get(seq)
    const rest = columns === undefined ? null : tailOf(blockRow(columns), seq)
    this.#run('cut-journal', [seq])
    if (rest !== null) this.#run('append-journal', [rest.first, rest.last, rest.entries])
  }

  /** To be called after each transaction. */
  afterTransaction(outcome: { readonly didFail: boolean }): void {
    this.#callers.forget(outcome)
    this.#keyHashes.afterTransaction(outcome)
    if (outcome.didFail) this.#end = null
  }

  get journalEnd(): JournalEnd {
    if (this.#end === null) {
      const columns = this.#statements.get('find-journal-end').get()
      this.#end = endOf(columns === undefined ? null : blockRow(columns))
    }
    return this.#end
  }

  #addJob(to: SqlValue[], job: PendingJob, facts: RowAt): void {
    const { bytes, at } = facts
    const caller = { bytes, at: at + JOB_AT.caller }
    const txHash = { bytes, at: at + JOB_AT.txHash }
    to.push(job.seq, idBytes(job.id), this.#callers.numberOf(caller), idBytes(txHash))
    this.#cells(to, facts, JOB_AT.payload + 4 + payloadIn(facts).length, WIDTH.job)
    this.#addJobState(to, job.state as RowAt)
    to.push(job.entries)
  }

  #addJobState(to: SqlValue[], state: RowAt): void {
    to.push(JOB_STATUSES[state.bytes[state.at + JOB_STATE_AT.status] as number] as string)
    this.#cells(to, state, JOB_STATE_AT.cells, WIDTH.jobState)
  }

  #updateJob({ seq, id, state, entries }: PendingJob): void {
    if (state === null) {
      if (entries !== '') this.#run('note-entries', [seq, entries])
      return
    }
    const cells: SqlValue[] = [seq, idBytes(id)]
    this.#addJobState(cells, state)
    cells.push(entries)
    invariant(this.#run('update-job', cells) === 1, 'a change of a job was checked before')
  }

  /** Changes before new ones: an old lease of the same job may have to end first. */
  #writeLeases({ seq, leases }: PendingJob, newLeases: SqlValue[]): void {
    for (const { attempt, id, facts, state } of leases) {
      if (state === null) continue
      const cells = facts === null ? [] : newLeases
      cells.push(seq, attempt, idBytes(id))
      if (facts !== null) this.#cells(cells, facts, LEASE_AT.cells, WIDTH.lease)
      cells.push(LEASE_STATUSES[state.bytes[state.at + LEASE_STATE_AT.status] as number] as string)
      this.#cells(cells, state, LEASE_STATE_AT.cells, WIDTH.leaseState)
      if (facts !== null) continue
      invariant(this.#run('update-lease', cells) === 1, 'a change of a lease was checked before')
    }
  }

  /** The newest deletes old ones from the table. Those that wait beside it were seen to when it came. */
  #addFailures(to: SqlValue[], { seq, failures }: PendingJob): void {
    let newest = 0
    for (const row of failures) {
      const attempt = attemptIn(row)
      newest = Math.max(newest, attempt)
      to.push(seq, attempt)
      this.#cells(to, row, FAILURE_AT.cells, WIDTH.failure)
    }
    if (newest >= FAILURES_KEPT) this.#run('drop-old-failures', [seq, newest - FAILURES_KEPT])
  }

  #writeShare([kind, caller, finish]: readonly SqlValue[]): void {
    const id = Buffer.from(caller as Uint8Array)
    const no = this.#callers.numberOf({ bytes: id, at: 0 })
    if (finish === null) this.#run('forget-share', [kind as SqlValue, no])
    else this.#run('write-share', [kind as SqlValue, no, finish as SqlValue])
  }

  /** Adds cells of a row, from a place in it on. */
  #cells(to: SqlValue[], { bytes, at }: RowAt, from: number, count: number): SqlValue[] {
    this.#reader.seek(bytes, at + from).cellsTo(to, count)
    return to
  }

  #run(name: string, params: readonly SqlValue[]): number {
    return Number(this.#statements.get(name).run(...params).changes)
  }
}
