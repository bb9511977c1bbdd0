import { FairleadError } from '@fairlead/core'
import {
  type EndedSpan,
  FAILURES_KEPT,
  moveAuditHash,
  ROUNDS_KEPT,
  resultWithoutPeople,
  withoutPeople,
} from '@fairlead/core/internal'
import { columnsOf } from '../../rows/record-codec.ts'
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
import type { Database, SqlValue } from '../driver.ts'
import { CellReader, CellWriter } from '../rows/cell-codec.ts'
import { putRow } from '../rows/put-row.ts'
import { rowIn, takeRow } from '../rows/row-sums.ts'
import { Bulk, type Conflict } from './bulk.ts'
import { wrongRowsOf } from './check-rows.ts'
import { id48, KeyHash } from './key-hash.ts'
import { renewSums } from './renew-sums.ts'
import type { Statements } from './statements.ts'
import { loadStoreRow, type StoreRow, saveStoreRow } from './store-row.ts'

/** At most so many jobs, and so many results of deleted jobs, are deleted with one batch, because reads wait for it. */
export const PRUNED_AT_ONCE = 1_000

/** The cells of a payload and its sum. */
const PAYLOAD_CELLS = PAYLOAD.columns.length + PAYLOAD.sums.length

const ENTRY_COLUMNS = ['seq', 'at', 'actor', 'action', 'subject', 'job', 'details', 'hash']

/** Writes batches into the tables. The transaction is the caller's; after an error it is over. */
export class TableWriter {
  /** The row about the store after the last batch. */
  row: StoreRow
  /** True if personal data was erased since somebody set this to false. */
  hasErased = false
  readonly keyHash: KeyHash
  readonly #db: Database
  readonly #statements: Statements
  readonly #jobs: Bulk
  readonly #payloads: Bulk
  readonly #replacedPayloads: Bulk
  readonly #leases: Bulk
  readonly #results: Bulk
  readonly #replacedResults: Bulk
  readonly #failures: Bulk
  readonly #entries: Bulk
  readonly #rounds: Bulk
  readonly #providers: Bulk
  readonly #shares: Bulk
  readonly #lanes: Bulk
  readonly #settlements: Bulk
  readonly #parts: Bulk
  readonly #meta: Bulk

  constructor(db: Database, statements: Statements) {
    this.#db = db
    this.#statements = statements
    this.row = loadStoreRow(statements)
    this.keyHash = new KeyHash(this.row.id)
    const bulk = (type: RowType<unknown>, conflict?: Conflict, ...more: string[]): Bulk =>
      new Bulk(db, type.table, [...columnsIn(type), ...more], conflict)
    this.#jobs = bulk(JOB, 'ROLLBACK', 'id48', 'caller48', 'key_hash')
    this.#payloads = bulk(PAYLOAD)
    this.#replacedPayloads = bulk(PAYLOAD, 'REPLACE')
    this.#leases = bulk(LEASE, 'ROLLBACK', 'id48')
    this.#results = bulk(RESULT, 'IGNORE')
    this.#replacedResults = bulk(RESULT, 'REPLACE')
    this.#failures = bulk(FAILURE, 'REPLACE')
    this.#entries = new Bulk(db, 'journal', ENTRY_COLUMNS)
    this.#rounds = bulk(ROUND)
    this.#providers = bulk(PROVIDER, 'REPLACE')
    this.#shares = bulk(SHARE, 'REPLACE')
    this.#lanes = bulk(LANE, 'REPLACE')
    this.#settlements = bulk(SETTLEMENT)
    this.#parts = bulk(STORED_PART)
    this.#meta = bulk(META, 'REPLACE')
  }

  /** After a rollback. */
  reload(): void {
    this.row = loadStoreRow(this.#statements)
  }

  /** Applies an encoded batch. Returns the number of its rows. */
  apply(bytes: Uint8Array): number {
    const reader = new CellReader(bytes)
    const [from, before, ended, results, cut] = reader.cells(5) as (number | null)[]
    const span = typeof from === 'number' && typeof before === 'number' ? { from, before } : null
    const prune = (): void => this.#prune(ended ?? null, results ?? null)
    // First, for new jobs that use the names of deleted ones; and last, for jobs that end in this batch with an end
    // before the time (STORE-10). A result may outlive its job, so it is erased before the job is deleted.
    if (span !== null) this.#erase(span)
    prune()
    let rows = this.#addJobs(reader)
    rows += this.#change(reader, 'update-job', JOB_CHANGE)
    rows += this.#change(reader, 'update-lease', LEASE_CHANGE)
    rows += this.#addLeases(reader)
    rows += this.#writeResults(reader)
    rows += this.#writeFailures(reader)
    rows += this.#addEntries(reader)
    rows += this.#addRounds(reader)
    rows += this.#write(reader, PROVIDER, this.#providers)
    rows += this.#writeOrForget(reader, SHARE, this.#shares, 'forget-share')
    rows += this.#clearLanes(reader)
    rows += this.#writeOrForget(reader, LANE, this.#lanes, 'forget-lane')
    rows += this.#write(reader, SETTLEMENT, this.#settlements)
    rows += this.#write(reader, STORED_PART, this.#parts)
    rows += this.#write(reader, META, this.#meta)
    rows += this.#pruneNamed(reader)
    if (span !== null) this.#erase(span)
    prune()
    if (typeof cut === 'number') this.#cutJournal(cut)
    return rows
  }

  /** Times of jobs, leases and results after one become earlier (CLOCK-1). */
  moveTimes({ afterMs, byMs }: { readonly afterMs: number; readonly byMs: number }): void {
    const moved = { 'move-jobs': JOB, 'move-leases': LEASE, 'move-results': RESULT }
    for (const [name, type] of Object.entries(moved)) {
      // A sum that is made anew would be right for a damaged value, too.
      const [problem] = wrongRowsOf(this.#db, type, 1)
      if (problem !== undefined) throw problem
      this.#run(name, byMs, afterMs)
      renewSums(this.#db, type)
    }
    this.#run('move-kept-results', byMs, afterMs)
  }

  /** Deletes everything that is due, however much it is. */
  pruneAll(): void {
    while (this.row.pruneEnded !== null || this.row.pruneResults !== null) this.#prune(null, null)
  }

  #addJobs(reader: CellReader): number {
    const jobs: SqlValue[] = []
    const payloads: SqlValue[] = []
    const count = reader.number()
    for (let i = 0; i < count; i++) {
      const at = jobs.length
      takeRow(reader, JOB, jobs)
      const hasKey = reader.number() === 1
      const [id, caller, txHash] = [jobs[at + 1], jobs[at + 2], jobs[at + 3]] as Uint8Array[]
      jobs.push(id48(id as Uint8Array), id48(caller as Uint8Array))
      jobs.push(hasKey ? this.keyHash.of(caller as Uint8Array, txHash as Uint8Array) : null)
      takeRow(reader, PAYLOAD, payloads)
    }
    this.row.jobs += this.#jobs.write(jobs)
    this.#payloads.write(payloads)
    return count
  }

  #addLeases(reader: CellReader): number {
    const leases: SqlValue[] = []
    const count = reader.number()
    for (let i = 0; i < count; i++) {
      const at = leases.length
      takeRow(reader, LEASE, leases)
      leases.push(id48(leases[at + 2] as Uint8Array))
    }
    this.row.leases += this.#leases.write(leases)
    return count
  }

  #change(reader: CellReader, name: string, type: RowType<unknown>): number {
    const count = reader.number()
    for (let i = 0; i < count; i++) {
      const changes = this.#run(name, ...rowFrom(reader, type))
      if (changes !== 1) throw refused(`${name}: there is no such row, or it has ended otherwise`)
    }
    return count
  }

  /** Mostly they are new. Those that are there are counted once. */
  #writeResults(reader: CellReader): number {
    const cells: SqlValue[] = []
    const count = reader.number()
    for (let i = 0; i < count; i++) takeRow(reader, RESULT, cells)
    const inserted = this.#results.write(cells)
    this.row.results += inserted
    if (inserted < count) this.#replacedResults.write(cells)
    return count
  }

  /** The newest failure deletes those of old attempts. */
  #writeFailures(reader: CellReader): number {
    const count = reader.number()
    for (let i = 0; i < count; i++) {
      const cells = rowFrom(reader, FAILURE)
      const [job, attempt] = cells as [number, number]
      this.#failures.write(cells)
      if (attempt >= FAILURES_KEPT) this.#run('drop-old-failures', job, attempt - FAILURES_KEPT)
    }
    return count
  }

  #addEntries(reader: CellReader): number {
    const { row } = this
    const cells: SqlValue[] = []
    const hash = Uint8Array.from(row.journalHash)
    const count = reader.number()
    for (let i = 0; i < count; i++) {
      const [seq, job, record] = reader.cells(3) as [number, number | null, Buffer]
      if (seq !== row.journalLast + 1)
        throw refused(`entry ${row.journalLast + 1} is due, not ${seq}`)
      row.journalLast = seq
      moveAuditHash(hash, record)
      const { at, actor, action, subject, details } = columnsOf(record)
      cells.push(seq, at, actor, action, subject, job, details, Uint8Array.from(hash))
    }
    row.journalHash = hash
    this.#entries.write(cells)
    return count
  }

  #addRounds(reader: CellReader): number {
    const count = this.#write(reader, ROUND, this.#rounds)
    if (count > 0) this.#run('drop-old-rounds', ROUNDS_KEPT)
    return count
  }

  #write(reader: CellReader, type: RowType<unknown>, bulk: Bulk): number {
    const cells: SqlValue[] = []
    const count = reader.number()
    for (let i = 0; i < count; i++) takeRow(reader, type, cells)
    bulk.write(cells)
    return count
  }

  #clearLanes(reader: CellReader): number {
    const count = reader.number()
    for (let i = 0; i < count; i++) this.#run('clear-lane', reader.cell())
    return count
  }

  /** A row without its last value is deleted. */
  #writeOrForget(reader: CellReader, type: RowType<unknown>, bulk: Bulk, forget: string): number {
    const count = reader.number()
    for (let i = 0; i < count; i++) {
      const cells = rowFrom(reader, type)
      if (cells[type.keys] === null) this.#run(forget, ...cells.slice(0, type.keys))
      else bulk.write(cells)
    }
    return count
  }

  /** Only where and when stays of what these registrations said (STORE-16). */
  #erase({ from, before }: EndedSpan): void {
    for (const cells of this.#statements.get('list-ended-registrations').all(from, before)) {
      this.hasErased = true
      const { jobSeq, payload } = rowIn(PAYLOAD, cells)
      replace(this.#replacedPayloads, PAYLOAD, { jobSeq, payload: withoutPeople(payload) })
      if (cells[PAYLOAD_CELLS] === null) continue
      const result = rowIn(RESULT, cells, PAYLOAD_CELLS)
      replace(this.#replacedResults, RESULT, { ...result, ...resultWithoutPeople(result) })
    }
  }

  /** Deletes the next jobs with all that goes with them, and the next results of deleted jobs (STORE-10). */
  #prune(endedBefore: number | null, resultsBefore: number | null): void {
    const { row } = this
    if (endedBefore !== null) row.pruneEnded = Math.max(endedBefore, row.pruneEnded ?? 0)
    if (resultsBefore !== null) row.pruneResults = resultsBefore
    const { pruneEnded: ended, pruneResults: results } = row
    if (ended !== null) {
      this.#run('keep-results', ended, PRUNED_AT_ONCE, results)
      row.results -= this.#run('prune-results', ended, PRUNED_AT_ONCE, results)
      this.#run('prune-payloads', ended, PRUNED_AT_ONCE)
      row.leases -= this.#run('prune-leases', ended, PRUNED_AT_ONCE)
      this.#run('prune-failures', ended, PRUNED_AT_ONCE)
      const jobs = this.#run('prune-jobs', ended, PRUNED_AT_ONCE)
      row.jobs -= jobs
      if (jobs < PRUNED_AT_ONCE) row.pruneEnded = null
    }
    if (results !== null) {
      const count = this.#run('prune-kept-results', results, PRUNED_AT_ONCE)
      row.results -= count
      this.#run('forget-kept-results', results, PRUNED_AT_ONCE)
      if (count < PRUNED_AT_ONCE && row.pruneEnded === null) row.pruneResults = null
    }
  }

  /** Deletes jobs that are named (STORE-22). */
  #pruneNamed(reader: CellReader): number {
    const { row } = this
    const count = reader.number()
    for (let i = 0; i < count; i++) {
      const seqs = reader.cell() as string
      const resultsBefore = (reader.cell() ?? null) as number | null
      this.#run('keep-named-results', seqs, resultsBefore)
      row.results -= this.#run('prune-named-results', seqs, resultsBefore)
      this.#run('prune-named-payloads', seqs)
      row.leases -= this.#run('prune-named-leases', seqs)
      this.#run('prune-named-failures', seqs)
      row.jobs -= this.#run('prune-named-jobs', seqs)
    }
    return count
  }

  #cutJournal(seq: number): void {
    const { row } = this
    if (seq >= row.journalLast) {
      throw refused(`entry ${seq} is the newest or not there, and one has to stay`)
    }
    if (seq < row.journalFirst) return
    const [hash] = this.#statements.get('find-entry-hash').get(seq) as [Uint8Array]
    row.journalBefore = Uint8Array.from(hash)
    row.journalFirst = seq + 1
    this.#run('cut-journal', seq)
    // Reads before the next commit need the hash.
    saveStoreRow(this.#statements, row)
  }

  #run(name: string, ...params: readonly SqlValue[]): number {
    return Number(this.#statements.get(name).run(...params).changes)
  }
}

function columnsIn({ columns, sums }: RowType<unknown>): string[] {
  return [...columns, ...sums].map(({ column }) => column)
}

function rowFrom(reader: CellReader, type: RowType<unknown>): SqlValue[] {
  const cells: SqlValue[] = []
  takeRow(reader, type, cells)
  return cells
}

const one = new CellWriter()

function replace<Row extends object>(bulk: Bulk, type: RowType<Row>, row: Row): void {
  one.start()
  putRow(one, type, row)
  bulk.write(rowFrom(new CellReader(one.finish()), type))
}

function refused(why: string): FairleadError {
  return new FairleadError('InvalidState', why)
}
