import type { JobRow, Snapshot } from '@fairlead/core'
import { decodeBatch, decodeRecords } from './batch-codec.ts'
import { BatchWriter } from './batch-writer.ts'
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
import { migrate, refuseForeign } from './migrate.ts'
import { PendingRows } from './pending-rows.ts'
import { jobRow, leaseRow, metaRow, providerRow, shareRow } from './rows.ts'
import { type DirectReads, SqliteReads } from './sqlite-reads.ts'
import { Statements } from './statements.ts'
import { asUnavailable, builtOnRefused, unavailable } from './unavailable.ts'

export interface SqliteOptions {
  /**
   * `full` (default): what was committed survives a power cut. `relaxed`: it survives the end of the
   * process, but the last commits may be lost when the machine stops; the file stays whole.
   */
  readonly durability?: 'full' | 'relaxed'
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
    return new SqliteFile(path, db, pass)
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

/**
 * Rows wait in the log until there are this many, or this long: the more, the more often a row has
 * changed again and is written once; the less, the shorter the one commit that writes them all.
 */
const PENDING_ROWS = 6_000
const PENDING_MS = 200

/** An open file: every call is synchronous and on the one connection. */
export class SqliteFile {
  readonly #path: string
  readonly #pass: Pass
  readonly #db: Database
  readonly #statements: Statements
  readonly #writer: BatchWriter
  readonly #pending: PendingRows
  readonly #reads: SqliteReads
  #timer: NodeJS.Timeout | null = null
  /** Batches that were refused. Who has not heard of all of them has built on one (STORE-2). */
  #refusals = 0
  /** False while what is pending has to be read from the log again. */
  #isWhole = false

  constructor(path: string, db: Database, pass: Pass) {
    this.#pass = pass
    this.#path = path
    this.#db = db
    this.#statements = new Statements(db)
    this.#writer = new BatchWriter(this.#statements)
    this.#pending = new PendingRows(this.#statements)
    this.#reads = new SqliteReads(this.#statements, this.#pending)
    this.#mergeLog()
  }

  /** All of a snapshot but the jobs, of which there may be a million. */
  loadAllButJobs(): Omit<Snapshot, 'jobs'> {
    return this.#seeing(() => ({
      leases: this.#rows('load-leases', leaseRow),
      providers: this.#rows('all-providers', providerRow),
      shares: this.#rows('all-shares', shareRow),
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

  /**
   * One transaction with all of the batch, or none of it (STORE-14): the entries of the journal and,
   * in the log, the rows; or the rows of all batches since the last time that they were written.
   */
  commit(bytes: Uint8Array, recordsAt: number, refusalsHeard: number): void {
    if (refusalsHeard < this.#refusals) {
      throw builtOnRefused(this.#path)
    }
    try {
      this.#commit(bytes, recordsAt)
    } catch (error) {
      this.#refusals++
      throw error
    }
  }

  #commit(bytes: Uint8Array, recordsAt: number): void {
    const rows = bytes.subarray(0, recordsAt)
    const batch = decodeBatch(rows)
    const { firstEntry, pruneEndedBefore: before } = batch
    // The names of what is deleted are free for what is new, so it has to be in its table.
    if (before !== null) this.#seeing(() => {})
    this.#mergeLog()
    this.#transaction(() => {
      if (before !== null) this.#writer.prune(before)
      this.#pending.merge(batch)
      if (firstEntry !== null) {
        this.#writer.append(firstEntry, decodeRecords(bytes.subarray(recordsAt)))
      }
      if (before === null && this.#pending.size < PENDING_ROWS) {
        this.#statements.get('append-log').run(rows)
        return
      }
      this.#writePending()
      // Once more, for jobs whose own end in this batch lies before the time (STORE-10).
      if (before !== null) this.#writer.prune(before)
    })
    if (!this.#pending.isEmpty)
      this.#timer ??= setTimeout(() => this.#pass(() => this.#writeInTime()), PENDING_MS)
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    try {
      this.#seeing(() => {})
    } catch {
      // What cannot be written stays in the log, and is found there by the next to open the file.
    } finally {
      // While the lock is still held: afterwards the name could be that of the next holder.
      removeHolder(this.#path)
      closeDatabase(this.#db)
    }
  }

  #writeInTime(): void {
    this.#timer = null
    try {
      this.#seeing(() => {})
    } catch {
      // As above; whoever calls next is told.
    }
  }

  /** Reads with all rows in their tables. If they cannot stay there, the disk being full, it still reads. */
  #seeing<Answer>(read: () => Answer): Answer {
    this.#mergeLog()
    if (this.#pending.isEmpty) return read()
    let answer: { readonly value: Answer } | null = null
    try {
      this.#transaction(() => {
        this.#writePending()
        answer = { value: read() }
      })
    } catch (error) {
      if (answer === null) throw error
    }
    return (answer as unknown as { readonly value: Answer }).value
  }

  #writePending(): void {
    this.#writer.write(this.#pending.take())
    this.#statements.get('clear-log').run()
  }

  #transaction(act: () => void): void {
    let didFail = true
    try {
      this.#db.exec('BEGIN IMMEDIATE')
      act()
      this.#db.exec('COMMIT')
      didFail = false
    } finally {
      // Some errors have ended the transaction already.
      if (didFail && this.#db.isTransaction) this.#db.exec('ROLLBACK')
      if (didFail) this.#isWhole = false
      this.#writer.settle({ didFail })
    }
  }

  /** At the start, and after a transaction that failed: what was pending is what the log has. */
  #mergeLog(): void {
    if (this.#isWhole) return
    this.#pending.clear()
    for (const { batch } of this.#statements.get('all-log').all()) {
      this.#pending.merge(decodeBatch(batch as Uint8Array))
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
