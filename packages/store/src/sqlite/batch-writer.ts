import {
  FairleadError,
  isLive,
  type JobState,
  type JournalRow,
  type LeaseRow,
  ROUNDS_KEPT,
  type RoundRow,
  type ShareRow,
  type WriteBatch,
} from '@fairlead/core'
import { Bulk } from './bulk.ts'
import { textCell } from './cells.ts'
import type { SqlValue } from './driver.ts'
import { IdNumbers } from './id-numbers.ts'
import {
  headRow,
  jobParams,
  journalParams,
  leaseParams,
  providerParams,
  resultParams,
  roundParams,
  stateParams,
} from './rows.ts'
import type { Statements } from './statements.ts'

/** Writes the rows of a batch; the transaction around it is the caller's. */
export class BatchWriter {
  readonly #statements: Statements
  readonly #ids: IdNumbers
  readonly #jobs: Bulk
  readonly #payloads: Bulk
  readonly #leases: Bulk
  readonly #results: Bulk
  readonly #journal: Bulk

  constructor(statements: Statements) {
    this.#statements = statements
    this.#ids = new IdNumbers(statements)
    this.#jobs = new Bulk(statements, { one: 'insert-job', many: 'insert-jobs-20' })
    this.#payloads = new Bulk(statements, { one: 'insert-payload', many: 'insert-payloads-20' })
    this.#leases = new Bulk(statements, { one: 'write-lease', many: 'write-leases-20' })
    this.#results = new Bulk(statements, { one: 'write-result', many: 'write-results-20' })
    this.#journal = new Bulk(statements, { one: 'append-journal', many: 'append-journal-20' })
  }

  write(batch: WriteBatch): void {
    // Before the new jobs, which may use the name of a deleted one again; and once more at the end,
    // for jobs whose own end in this batch lies before the time (STORE-10).
    this.#prune(batch.pruneEndedBefore)
    this.#insertJobs(batch.newJobs)
    for (const job of batch.jobs) this.#updateJob(job)
    // Ended ones first: the next lease of a job may be in the same batch, and only one is live.
    this.#writeLeases(batch.leases.filter(({ status }) => !isLive(status)))
    this.#writeLeases(batch.leases.filter(({ status }) => isLive(status)))
    for (const row of batch.providers) this.#run('write-provider', providerParams(row))
    this.#results.write(batch.results.map((row) => resultParams(row, this.#ids.of(row.jobId))))
    for (const row of batch.shares) this.#writeShare(row)
    this.#insertRounds(batch.rounds)
    this.#append(batch.journal)
    for (const [name, value] of Object.entries(batch.meta)) {
      this.#run('write-meta', [textCell(name), textCell(value)])
    }
    this.#prune(batch.pruneEndedBefore)
  }

  /** To be called after each batch. */
  settle(outcome: { readonly didFail: boolean }): void {
    this.#ids.forget(outcome)
  }

  #insertJobs(jobs: WriteBatch['newJobs']): void {
    this.#ids.giveTo(jobs.map(({ row }) => row.id))
    this.#jobs.write(
      jobs.map(({ row }) => jobParams(row, this.#ids.of(row.id), this.#ids.of(row.caller))),
    )
    this.#payloads.write(jobs.map(({ row, payload }) => [this.#ids.of(row.id), payload]))
  }

  #updateJob(job: JobState & { readonly id: string }): void {
    const no = this.#ids.find(job.id)
    const changes = no === null ? 0 : this.#run('update-job', [...stateParams(job), no])
    if (changes === 1) return
    throw new FairleadError(
      'InvalidState',
      `job ${job.id} cannot become ${job.status}: it is not in the store, or it has ended`,
      { jobId: job.id, status: job.status },
    )
  }

  #writeLeases(leases: readonly LeaseRow[]): void {
    const rows = leases.map((row) => leaseParams(row, this.#ids.of(row.jobId)))
    if (this.#leases.write(rows) === leases.length) return
    throw new FairleadError(
      'InvalidState',
      'a lease cannot become what the batch says: it has ended, or its attempt is another lease',
    )
  }

  #writeShare({ kind, caller, finish }: ShareRow): void {
    if (finish === null) this.#run('forget-share', [kind, this.#ids.find(caller)])
    else this.#run('write-share', [kind, this.#ids.of(caller), finish.toString()])
  }

  #insertRounds(rounds: readonly RoundRow[]): void {
    for (const row of rounds) this.#run('insert-round', roundParams(row))
    if (rounds.length > 0) this.#run('drop-old-rounds', [ROUNDS_KEPT])
  }

  #append(journal: readonly JournalRow[]): void {
    let before = headRow(this.#statements.get('find-journal-head').get())
    const rows = journal.map((row) => {
      const jobNo = row.jobId === null ? null : this.#ids.of(row.jobId)
      const hash = before.seq === row.seq - 1 ? before.hash : null
      before = row
      return journalParams(row, jobNo, hash)
    })
    this.#journal.write(rows)
  }

  #prune(endedBefore: number | null): void {
    if (endedBefore === null) return
    for (const name of ['prune-payloads', 'prune-leases', 'prune-jobs']) {
      this.#run(name, [endedBefore])
    }
  }

  #run(name: string, params: readonly SqlValue[]): number {
    return Number(this.#statements.get(name).run(...params).changes)
  }
}
