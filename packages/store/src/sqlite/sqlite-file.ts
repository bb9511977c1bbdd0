import type { JobRow, Snapshot } from '@fairlead/core'
import { type BatchRows, rowsOf } from './batch-codec.ts'
import {
  type Columns,
  closeDatabase,
  type Database,
  openDatabase,
  type SqlValue,
  sqliteCode,
} from './driver.ts'
import { readHolder, removeHolder, writeHolder } from './holder.ts'
import { headOf } from './journal-blocks.ts'
import { LogFile } from './log-file.ts'
import { migrate, refuseForeign } from './migrate.ts'
import { Names } from './names.ts'
import { PendingRows } from './pending-rows.ts'
import { jobRow, laneRow, leaseRow, metaRow, providerRow, shareRow } from './rows.ts'
import { type DirectReads, SqliteReads } from './sqlite-reads.ts'
import { Statements } from './statements.ts'
import { StoredRows } from './stored-rows.ts'
import { TableWriter } from './table-writer.ts'
import { asUnavailable, builtOnRefused, unavailable } from './unavailable.ts'

export interface SqliteOptions {
  /**
   * `full` (default): what was committed survives a power cut. `relaxed`: it survives the end of the
   * process, but the last commits may be lost when the machine stops; the file stays whole.
   */
  readonly durability?: 'full' | 'relaxed'
}

/** One piece of memory goes from thread to thread in a fraction of the time that many take. */
export interface PackedPayloads {
  readonly bytes: Uint8Array
  readonly lengths: readonly number[]
}

/** How it gets at the file when nobody called; see `ThreadGate`. */
type Pass = (act: () => void) => void

const BUSY = 5

/** Holds the pages of the three random indexes for a few million jobs. */
const CACHE_KIB = 65_536
/**
 * The log is carried over into the file when it has this many pages (64 MiB). The longer it may grow,
 * the more often a page has been written again by then, and is carried over once.
 */
const LOG_PAGES = 16_384

/** Opens a file, and makes one where none is. Only one process at a time can (STORE-3). */
export function openSqliteFile(
  path: string,
  options: SqliteOptions,
  pass: Pass = (act) => act(),
  pace: Pace = PACE,
): SqliteFile {
  let db: Database | null = null
  try {
    db = openDatabase(path)
    // First of all: the lock is taken with the first access and held until the end. With it the index
    // of the log is in our own memory, and no other process can so much as read the file.
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    refuseForeign(db, path)
    configure(db, options)
    migrate(db)
    writeHolder(path)
    return new SqliteFile(path, db, options, pass, pace)
  } catch (error) {
    db?.close()
    const isBusy = ((sqliteCode(error) ?? 0) & 0xff) === BUSY
    throw isBusy ? heldByAnother(path, error) : asUnavailable(path, error)
  }
}

function configure(db: Database, { durability = 'full' }: SqliteOptions): void {
  db.exec('PRAGMA journal_mode = WAL')
  // Of the connection, not of the file: without this line it is what the driver was built with.
  db.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
  db.exec('PRAGMA temp_store = MEMORY')
  db.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
  db.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`)
  // An empty file has not been written yet, and so not been locked.
  db.exec('BEGIN IMMEDIATE')
  db.exec('ROLLBACK')
}

/** How what waits in the log is carried into its tables. */
export interface Pace {
  /** Rows wait for so long, to be carried together. */
  readonly waitMs: number
  /** With so many jobs waiting it begins at once, and goes on beside the commits that come. */
  readonly jobsAtOnce: number
  /** Jobs that are carried between two calls. */
  readonly sliceJobs: number
}

/** Each carrying over ends with a commit of the tables, which holds up the commits that come meanwhile. */
const PACE: Pace = { waitMs: 2_000, jobsAtOnce: 8_000, sliceJobs: 20 }

/** Records of the journal that are carried with a slice; what is more than these waits for the last. */
const RECORDS_PER_JOB = 4
/** Names or rows of lanes that are carried in the place of a job. */
const ROWS_PER_JOB = 8

/** With more than this waiting, commits are slowed down to the pace at which it is carried. */
const WAITING_JOBS_MAX = 20_000
const WAITING_BYTES_MAX = 128 * 1_048_576
/** Jobs that each of them carries then: more than it can bring. */
const JOBS_PER_COMMIT = 256

/** A carrying over that goes on: up to which batch, and what is left of what waited when it began. */
interface Carrying {
  readonly upTo: number
  jobsLeft: number
  lanesLeft: number
}

/** An open file: every call is synchronous and on the one connection. */
export class SqliteFile {
  readonly #path: string
  readonly #pass: Pass
  readonly #pace: Pace
  readonly #db: Database
  readonly #statements: Statements
  readonly #stored: StoredRows
  readonly #writer: TableWriter
  readonly #pending: PendingRows
  readonly #reads: SqliteReads
  readonly #log: LogFile
  #carrying: Carrying | null = null
  #timer: NodeJS.Timeout | null = null
  #immediate: NodeJS.Immediate | null = null
  /** Batches that were refused. Who has not heard of all of them has built on one (STORE-2). */
  #refusals = 0
  /** False while what is pending has to be read from the log again. */
  #isWhole = false

  constructor(path: string, db: Database, { durability }: SqliteOptions, pass: Pass, pace: Pace) {
    this.#pass = pass
    this.#pace = pace
    this.#path = path
    this.#db = db
    db.function('name_of', (id) => names.of(id as Uint8Array))
    db.function('name_of_key', (caller, txHash) =>
      names.of(Buffer.concat([caller as Uint8Array, txHash as Uint8Array])),
    )
    this.#statements = new Statements(db)
    const { id, carried } = this.#statements.get('find-store').get() as Columns
    const names = new Names(id as Uint8Array)
    this.#stored = new StoredRows(this.#statements, names)
    this.#writer = new TableWriter(this.#statements)
    this.#pending = new PendingRows(this.#stored, names)
    this.#reads = new SqliteReads(this.#statements, this.#pending)
    this.#log = new LogFile(path, {
      id: id as Uint8Array,
      carried: carried as number,
      isSynced: durability !== 'relaxed',
    })
    this.#mergeLog()
    this.#carryLater()
  }

  /** All of a snapshot but the jobs, of which there may be a million. */
  loadAllButJobs(): Omit<Snapshot, 'jobs'> {
    return this.#seeing(() => ({
      leases: this.#rows('load-leases', leaseRow),
      providers: this.#rows('all-providers', providerRow),
      shares: this.#rows('all-shares', shareRow),
      lanes: this.#rows('all-lanes', laneRow),
      meta: Object.fromEntries(
        this.#rows('all-meta', metaRow).map(({ name, value }) => [name, value]),
      ),
      journalHead: headOf(this.#writer.journalEnd),
    }))
  }

  /** A page of the jobs that are alive, in order of acceptance. */
  loadJobs(afterSeq: number, limit: number): JobRow[] {
    return this.#seeing(() => this.#rows('load-jobs', jobRow, afterSeq, limit))
  }

  read(name: keyof DirectReads, args: readonly unknown[]): unknown {
    const read = () => (this.#reads[name] as (...given: unknown[]) => unknown)(...args)
    this.#mergeLog()
    return this.#reads.lookAtPending.has(name) ? read() : this.#seeing(read)
  }

  /** Payloads one behind the other, and the length of each; −1 where there is none. */
  payloads(seqs: readonly number[]): PackedPayloads {
    this.#mergeLog()
    const found = this.#reads.payloads(seqs)
    const lengths = found.map((payload) => payload?.length ?? -1)
    const bytes = Buffer.concat(found.filter((payload) => payload !== null))
    return { bytes: Uint8Array.from(bytes), lengths }
  }

  /** All of the batch is in the log when it returns, or none of it (STORE-14). */
  commit(bytes: Uint8Array, refusalsHeard: number): void {
    if (refusalsHeard < this.#refusals) {
      throw builtOnRefused(this.#path)
    }
    try {
      this.#commit(bytes)
    } catch (error) {
      this.#refusals++
      this.#abandon()
      throw error
    }
  }

  #commit(bytes: Uint8Array): void {
    this.#mergeLog()
    const batch = rowsOf(bytes)
    if (batch.pruneEndedBefore !== null || batch.cutJournalAt !== null) {
      this.#commitWithout(batch)
      return
    }
    if (this.#pending.jobCount > WAITING_JOBS_MAX || this.#log.size > WAITING_BYTES_MAX) {
      this.#carrySlice(JOBS_PER_COMMIT)
    }
    this.#pending.merge(batch, this.#writer.journalEnd.seq)
    this.#log.append(bytes)
    this.#carryLater()
  }

  /**
   * A batch that deletes does without the log: the names of what is deleted are free for what is new,
   * so all that waits has to be in its tables first, and the new rows are best written there, too.
   */
  #commitWithout(batch: BatchRows): void {
    const { pruneEndedBefore: before, cutJournalAt } = batch
    this.#finishCarrying()
    this.#pending.carryingEnds()
    this.#begin()
    if (before !== null) this.#writer.prune(before)
    this.#stored.forget()
    this.#pending.merge(batch, this.#writer.journalEnd.seq)
    this.#writeAll()
    // Once more, for jobs whose own end in this batch lies before the time (STORE-10).
    if (before !== null) this.#writer.prune(before)
    if (cutJournalAt !== null) this.#writer.cutJournal(cutJournalAt)
    this.#end()
    this.#pending.carryingEnds()
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    if (this.#immediate !== null) clearImmediate(this.#immediate)
    try {
      this.#mergeLog()
      this.#finishCarrying()
      this.#log.close()
    } catch {
      // What cannot be written stays in the log, and is found there by the next to open the file.
    } finally {
      // While the lock is still held: afterwards the name could be that of the next holder.
      removeHolder(this.#path)
      closeDatabase(this.#db)
    }
  }

  /** Reads with all rows in their tables. They need not stay there: without a commit it still reads. */
  #seeing<Answer>(read: () => Answer): Answer {
    this.#mergeLog()
    if (this.#pending.isEmpty) return read()
    try {
      this.#startCarrying()
      this.#writeAll()
      this.#carryLater()
      return read()
    } catch (error) {
      this.#abandon()
      throw error
    }
  }

  /** Sees to it that what waits is carried over in time. */
  #carryLater(): void {
    if (this.#carrying !== null || this.#pending.jobCount >= this.#pace.jobsAtOnce) {
      this.#immediate ??= setImmediate(() => {
        this.#immediate = null
        this.#carryInTime()
      })
    } else if (!this.#pending.isEmpty) {
      this.#timer ??= setTimeout(() => {
        this.#timer = null
        this.#carryInTime()
      }, this.#pace.waitMs)
    }
  }

  #carryInTime(): void {
    this.#pass(() => {
      try {
        this.#mergeLog()
        this.#carrySlice(this.#pace.sliceJobs)
      } catch {
        // What cannot be written stays in the log; when that cannot grow, the next batch is refused.
        this.#abandon()
      }
      this.#carryLater()
    })
  }

  /**
   * Some of what waited when the carrying began: jobs, then rows of lanes, then the names of the jobs;
   * and in the end all that has to do with it, in a commit.
   */
  #carrySlice(jobs: number): void {
    const carrying = this.#startCarrying()
    const most = Math.min(jobs, carrying.jobsLeft)
    this.#writer.writeJobs(this.#pending.takeJobs(most))
    this.#writer.append(this.#pending.takeRecords(RECORDS_PER_JOB * most))
    carrying.jobsLeft -= most
    let rows = ROWS_PER_JOB * (jobs - most)
    const lanes = this.#pending.takeLanes(Math.min(rows, carrying.lanesLeft))
    this.#writer.writeLanes(lanes)
    carrying.lanesLeft -= lanes.length
    rows -= lanes.length
    if (rows > 0) this.#writer.writeNames(this.#pending.takeNames(rows))
    const isDone = carrying.jobsLeft + carrying.lanesLeft === 0 && !this.#pending.hasNames
    if (isDone) this.#commitCarried(carrying.upTo)
  }

  #startCarrying(): Carrying {
    this.#begin()
    if (this.#carrying === null) {
      const { jobCount, laneCount } = this.#pending
      this.#carrying = { upTo: this.#log.last, jobsLeft: jobCount, lanesLeft: laneCount }
      this.#log.turn()
      this.#pending.carryingBegins()
    }
    return this.#carrying
  }

  /** All that waits, and what was begun. */
  #finishCarrying(): void {
    if (this.#pending.isEmpty && this.#carrying === null) return
    this.#startCarrying()
    this.#writeAll()
    this.#commitCarried(this.#log.last)
  }

  #writeAll(): void {
    this.#writer.writeJobs(this.#pending.takeJobs(this.#pending.jobCount))
    this.#writer.writeLanes(this.#pending.takeLanes(this.#pending.laneCount))
    this.#writeRest()
    if (this.#carrying !== null) Object.assign(this.#carrying, { jobsLeft: 0, lanesLeft: 0 })
  }

  #writeRest(): void {
    this.#writer.append(this.#pending.takeRecords(this.#pending.recordCount))
    while (this.#pending.hasNames) this.#writer.writeNames(this.#pending.takeNames(Infinity))
    this.#writer.writeOthers(this.#pending.takeOthers())
  }

  #commitCarried(upTo: number): void {
    this.#writeRest()
    this.#statements.get('note-carried').run(upTo)
    this.#end()
    this.#carrying = null
    this.#pending.carryingEnds()
    this.#log.release(upTo)
  }

  #begin(): void {
    if (!this.#db.isTransaction) this.#db.exec('BEGIN IMMEDIATE')
  }

  #end(): void {
    this.#db.exec('COMMIT')
    this.#writer.settle({ didFail: false })
  }

  /** After an error nothing that is not committed counts, here or in the tables. */
  #abandon(): void {
    // Some errors have ended the transaction already.
    if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
    this.#carrying = null
    this.#isWhole = false
  }

  /** At the start, and after an error: what is pending is what the log has. */
  #mergeLog(): void {
    if (this.#isWhole) return
    this.#pending.clear()
    this.#stored.forget()
    this.#writer.settle({ didFail: true })
    const { carried } = this.#statements.get('find-store').get() as Columns
    const batches = this.#log.batchesAfter(carried as number)
    if (batches.length > 0) this.#begin()
    for (const bytes of batches) {
      this.#pending.mergeAgain(rowsOf(bytes), this.#writer.journalEnd.seq)
    }
    this.#isWhole = true
  }

  #rows<Row>(name: string, row: (columns: Columns) => Row, ...params: SqlValue[]): Row[] {
    return this.#statements
      .get(name)
      .all(...params)
      .map(row)
  }
}

function heldByAnother(path: string, cause: unknown): Error {
  const holder = readHolder(path)
  const who =
    holder === null
      ? 'another process'
      : `process ${holder.pid} on ${holder.host} since ${holder.since}`
  return unavailable(path, 'held', `${who} has it open; stop that one or use another file`, {
    cause,
    details: holder === null ? {} : { holder },
  })
}
