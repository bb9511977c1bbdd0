import { FairleadError, invariant, ROUNDS_KEPT } from '@fairlead/core'
import type { Cells } from './batch-codec.ts'
import { Bulk } from './bulk.ts'
import { Callers } from './callers.ts'
import type { SqlValue } from './driver.ts'
import { chainBlocks, endOf, type JournalEnd } from './journal-blocks.ts'
import type { TableRows } from './pending-rows.ts'
import { blockRow, CELL, WIDTH } from './rows.ts'
import type { Statements } from './statements.ts'

/** Writes into the tables; the transaction around it is the caller's. */
export class BatchWriter {
  readonly #statements: Statements
  readonly #callers: Callers
  readonly #jobs: Bulk
  readonly #payloads: Bulk
  readonly #leases: Bulk
  readonly #results: Bulk
  /** Where the journal stands; null when that has to be looked up. */
  #end: JournalEnd | null = null

  constructor(statements: Statements) {
    this.#statements = statements
    this.#callers = new Callers(statements)
    this.#jobs = new Bulk(statements, { one: 'insert-job', many: 'insert-jobs-20' })
    this.#payloads = new Bulk(statements, { one: 'insert-payload', many: 'insert-payloads-20' })
    this.#leases = new Bulk(statements, { one: 'insert-lease', many: 'insert-leases-20' })
    this.#results = new Bulk(statements, { one: 'write-result', many: 'write-results-20' })
  }

  write(rows: TableRows): void {
    this.#insertJobs(rows.newJobs, rows.entries)
    this.#payloads.write(rows.payloads, WIDTH.payload)
    this.#updateJobs(rows.jobs, rows.entries)
    this.#updateLeases(rows.leases)
    this.#leases.write(rows.newLeases, WIDTH.lease)
    for (const row of each(rows.providers, WIDTH.provider)) this.#run('write-provider', row)
    this.#results.write(rows.results, WIDTH.result)
    for (const row of each(rows.shares, WIDTH.share)) this.#writeShare(row)
    for (const row of each(rows.rounds, WIDTH.round)) this.#run('insert-round', row)
    if (rows.rounds.length > 0) this.#run('drop-old-rounds', [ROUNDS_KEPT])
    for (const [job, seqs] of rows.entries) this.#run('note-entries', [job, seqs])
    for (const row of each(rows.meta, WIDTH.meta)) this.#run('write-meta', row)
  }

  /** Chains records to the journal, beginning with the number that the first one has. */
  append(first: number, records: readonly Uint8Array[]): void {
    const due = this.journalEnd.seq + 1
    if (first !== due) {
      throw new FairleadError('InvalidState', `entry ${first} is not the next one, ${due}`)
    }
    const { blocks, end } = chainBlocks(this.journalEnd, records)
    for (const block of blocks) {
      this.#run('append-journal', [block.first, block.last, block.entries])
    }
    this.#end = end
  }

  /** Deletes jobs that ended before a time, with all that goes with them (STORE-10). */
  prune(endedBefore: number): void {
    for (const name of ['keep-results', 'prune-payloads', 'prune-leases', 'prune-jobs']) {
      this.#run(name, [endedBefore])
    }
  }

  /** To be called after each transaction. */
  settle(outcome: { readonly didFail: boolean }): void {
    this.#callers.forget(outcome)
    if (outcome.didFail) this.#end = null
  }

  get journalEnd(): JournalEnd {
    if (this.#end === null) {
      const columns = this.#statements.get('find-journal-end').get()
      this.#end = endOf(columns === undefined ? null : blockRow(columns))
    }
    return this.#end
  }

  #insertJobs(jobs: Cells, entries: Map<number, string>): void {
    const cells: SqlValue[] = []
    for (let at = 0; at < jobs.length; at += WIDTH.job) {
      for (let i = 0; i < WIDTH.job; i++) {
        const cell = jobs[at + i] as SqlValue
        cells.push(i === CELL.caller ? this.#callers.numberOf(cell) : cell)
      }
      cells.push(takeEntries(entries, jobs[at] as number))
    }
    this.#jobs.write(cells, WIDTH.job + 1)
  }

  #updateJobs(jobs: Cells, entries: Map<number, string>): void {
    const update = this.#statements.get('update-job')
    for (const row of each(jobs, WIDTH.jobState)) {
      const { changes } = update.run(...row, takeEntries(entries, row[0] as number))
      invariant(Number(changes) === 1, 'a change of a job was checked before it was logged')
    }
  }

  /** Before new ones are inserted: an old lease of the same job may have to end first. */
  #updateLeases(leases: Cells): void {
    const update = this.#statements.get('update-lease')
    for (const row of each(leases, WIDTH.leaseState)) {
      const { changes } = update.run(...row)
      invariant(Number(changes) === 1, 'a change of a lease was checked before it was logged')
    }
  }

  #writeShare([kind, caller, finish]: Cells): void {
    const no = this.#callers.numberOf(caller as SqlValue)
    if (finish === null) this.#run('forget-share', [kind as SqlValue, no])
    else this.#run('write-share', [kind as SqlValue, no, finish as SqlValue])
  }

  #run(name: string, params: Cells): void {
    this.#statements.get(name).run(...params)
  }
}

function takeEntries(entries: Map<number, string>, job: number): string {
  const seqs = entries.get(job) ?? ''
  entries.delete(job)
  return seqs
}

function* each(cells: Cells, width: number): Iterable<Cells> {
  for (let at = 0; at < cells.length; at += width) yield cells.slice(at, at + width)
}
