import type { KeyPrints } from '@fairlead/core/internal'
import type { Moved } from '../../thread/thread-messages.ts'
import { asUnavailable, unavailable } from '../../unavailable.ts'
import { type Database, prepare, type Statement } from '../driver.ts'
import { problemsIn } from './check-tables.ts'
import { noteFileSum } from './file-sum.ts'
import {
  keyPrints,
  type LoadedJobs,
  type LoadedRest,
  loadJobs,
  loadRest,
  type Overview,
  overview,
  type PackedPayloads,
  packed,
  type Sealed,
  sealed,
} from './load-tables.ts'
import { type DirectReads, SqliteReads } from './sqlite-reads.ts'
import { Statements } from './statements.ts'
import { type StoreRow, saveStoreRow } from './store-row.ts'
import { TableWriter } from './table-writer.ts'

/** The bounds of what is applied and not committed. */
export interface Pace {
  /** A transaction with so many rows is committed. */
  readonly rows: number
  readonly bytes: number
  /** A transaction that is so old is committed with the next batch. */
  readonly ms: number
  /** A commit is followed by a checkpoint if so many bytes were applied since the last one, or so long ago. */
  readonly checkpointBytes: number
  readonly checkpointMs: number
}

export const PACE: Pace = {
  rows: 50_000,
  bytes: 64 * 1_048_576,
  ms: 1_000,
  checkpointBytes: 32 * 1_048_576,
  checkpointMs: 5_000,
}

/** After a failed commit, the next is tried with the first batch after so long. */
const RETRY_MS = 1_000

/** The times that become earlier, and by how much. */
export interface TimeMove {
  readonly afterMs: number
  readonly byMs: number
}

/**
 * The tables on their one connection; every call is synchronous.
 *
 * Batches are applied in a transaction that stays open, so that reads see them at once and a row that changes many times
 * is written to the disk once. A commit takes them into the write-ahead log, a checkpoint from there into the file. Only a
 * checkpoint that copied everything makes them durable, because SQLite syncs nothing before.
 *
 * The batches since the last commit are kept as they came. If a statement, commit or checkpoint fails, SQLite may have
 * undone the whole transaction; then they are applied again, so reads go on with all of them.
 */
export class TablesFile {
  readonly #path: string
  readonly #db: Database
  readonly #pace: Pace
  readonly #statements: Statements
  readonly #writer: TableWriter
  readonly #reads: SqliteReads
  readonly #checkpoints: Readonly<Record<'PASSIVE' | 'TRUNCATE', Statement>>
  /** The batches that are applied and not committed. */
  #kept: Kept[] = []
  #keptRows = 0
  #keptBytes = 0
  /** True if the tables may lack kept batches, because SQLite undid the transaction. */
  #isBehind = false
  #beganAt = 0
  #retryAt = 0
  /** The batch and the commit that the last complete checkpoint had. */
  #durable: number
  #durableCommit: number
  #bytesSinceCheckpoint = 0
  #checkpointedAt = performance.now()
  #isFinished = false

  constructor(path: string, db: Database, pace: Pace) {
    this.#path = path
    this.#db = db
    this.#pace = pace
    this.#statements = new Statements(db)
    this.#writer = new TableWriter(db, this.#statements)
    this.#reads = new SqliteReads(this.#statements, this.#writer.keyHash)
    this.#checkpoints = {
      PASSIVE: prepare(db, 'PRAGMA wal_checkpoint(PASSIVE)'),
      TRUNCATE: prepare(db, 'PRAGMA wal_checkpoint(TRUNCATE)'),
    }
    // The process before may have erased something and not scrubbed it.
    this.#writer.hasErased = !this.row.isClean
    this.#durable = this.row.batch
    this.#durableCommit = this.row.marks.commit
  }

  get row(): Readonly<StoreRow> {
    return this.#writer.row
  }

  get durable(): number {
    return this.#durable
  }

  /** What the log has to fit to. */
  opened(): { readonly id: Uint8Array; readonly batch: number; readonly wasClean: boolean } {
    const { id, batch, isClean } = this.row
    return { id, batch, wasClean: isClean }
  }

  /** Applies all of a batch or nothing of it. Returns the newest durable batch. */
  apply(bytes: Uint8Array, batch: number): number {
    this.#catchUp()
    if (batch < this.row.batch) {
      const advice = `batch ${batch} comes behind batch ${this.row.batch}, which is in the tables`
      throw unavailable(this.#path, 'constraint', advice)
    }
    this.#change({ bytes, batch, move: null, prunesAll: false })
    if (this.#isCommitDue()) this.#tryCommit()
    return this.#durable
  }

  /** Applies a batch behind a move of times, and makes both durable (CLOCK-1). */
  moveTimes(move: TimeMove, bytes: Uint8Array): number {
    this.#catchUp()
    this.#change({ bytes, batch: this.row.batch, move, prunesAll: false })
    return this.sync()
  }

  /** Commits what has waited for long enough, if nothing is applied any more. */
  tick(): void {
    if (this.#kept.length > 0 && !this.#isBehind && this.#isCommitDue()) this.#tryCommit()
  }

  /** Continues the journal of another store: its first entry that is left, and the hash before it. */
  beginJournal(first: number, before: Uint8Array): void {
    this.commit()
    this.#begin()
    const { row } = this.#writer
    Object.assign(row, { journalFirst: first, journalLast: first - 1 })
    Object.assign(row, { journalBefore: before, journalHash: before })
    this.#commit()
  }

  /** Makes everything durable that was applied. A reader in another process can delay it; then less is. */
  sync(): number {
    this.commit()
    if (this.#durableCommit < this.row.marks.commit) this.#checkpoint('PASSIVE')
    return this.#durable
  }

  /** Commits everything that was applied, so that other connections see it. */
  commit(): number {
    this.#catchUp()
    if (this.#kept.length > 0) this.#commit()
    return this.row.batch
  }

  /**
   * SQLite overwrites deleted rows; this also empties the write-ahead log, which may have them. Null if no personal data
   * was erased since the last time.
   */
  scrub(): number | null {
    if (!this.#writer.hasErased) return null
    this.commit()
    if (!this.#checkpoint('TRUNCATE')) throw this.#busy()
    this.#writer.hasErased = false
    return this.#durable
  }

  /** Marks a file that reflects the whole log as complete without it, and leaves no files beside it. */
  finish(logBatch: number): void {
    if (this.commit() !== logBatch) return
    this.setClean(true)
    try {
      // A driver may keep the connection, and with it its files, until all statements are collected.
      this.#db.exec('PRAGMA journal_mode = DELETE')
      this.#isFinished = true
    } catch {
      // Another program reads it. Then it keeps its write-ahead log, with which it is whole.
    }
  }

  /** Marks the file, durably, as complete without a log or not. */
  setClean(isClean: boolean): void {
    this.commit()
    this.#begin()
    this.#writer.row.isClean = isClean
    this.#commit()
    // What is marked as complete may wait in a write-ahead log. A mark that is taken away must be gone from the file.
    if (!this.#checkpoint(isClean ? 'TRUNCATE' : 'PASSIVE') && !isClean) throw this.#busy()
  }

  /** Without `setClean`, the next opening takes the rows that are not committed from the log. */
  close(): void {
    if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
    this.#db.close()
    if (this.#isFinished) noteFileSum(this.#path)
  }

  read(name: keyof DirectReads, args: readonly unknown[]): unknown {
    this.#catchUp()
    return (this.#reads[name] as (...given: readonly unknown[]) => unknown).apply(this.#reads, [
      ...args,
    ])
  }

  /** Payloads of jobs; see `packed`. */
  payloads(seqs: readonly number[]): Moved<PackedPayloads> {
    this.#catchUp()
    return packed(this.#reads.payloads(seqs))
  }

  loadRest(): LoadedRest {
    this.#catchUp()
    return loadRest(this.#statements, this.row)
  }

  loadJobs(afterSeq: number, limit: number): Moved<LoadedJobs> {
    this.#catchUp()
    return loadJobs(this.#statements, afterSeq, limit)
  }

  keyPrints(afterSeq: number, limit: number): Moved<KeyPrints> {
    this.#catchUp()
    return keyPrints(this.#statements, this.#writer.keyHash, afterSeq, limit)
  }

  overview(): Overview {
    this.#catchUp()
    return overview(this.#statements)
  }

  /** Reads all payloads and results. */
  sealed(): Sealed[] {
    this.#catchUp()
    return sealed(this.#statements)
  }

  /** Reads all values, and tells the first problems. */
  problems(): string[] {
    this.commit()
    try {
      return problemsIn(this.#db, this.row)
    } catch (error) {
      throw asUnavailable(this.#path, error)
    }
  }

  /** Applies a change and keeps it. After an error nothing of it is left. */
  #change(kept: Kept): void {
    const isPruning = this.row.pruneEnded !== null
    try {
      this.#begin()
      this.#keptRows += this.#write(kept)
    } catch (error) {
      const refusal = asUnavailable(this.#path, error)
      this.#isBehind = true
      this.#catchUp()
      // A job that is still to be deleted may have the names of a new one.
      const mayHelp = isPruning && !kept.prunesAll && refusal.details['reason'] === 'constraint'
      if (!mayHelp) throw refusal
      return this.#change({ ...kept, prunesAll: true })
    }
    this.#kept.push(kept)
    this.#keptBytes += kept.bytes.length
  }

  #write({ bytes, batch, move, prunesAll }: Kept): number {
    if (prunesAll) this.#writer.pruneAll()
    if (move !== null) this.#writer.moveTimes(move)
    const rows = this.#writer.apply(bytes)
    this.#writer.row.batch = batch
    return rows
  }

  #begin(): void {
    if (this.#db.isTransaction) return
    this.#db.exec('BEGIN IMMEDIATE')
    this.#beganAt = performance.now()
  }

  /** After SQLite undid the transaction, applies again what was kept. */
  #catchUp(): void {
    if (!this.#isBehind) return
    try {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      this.#writer.reload()
      this.#keptRows = 0
      if (this.#kept.length > 0) this.#begin()
      for (const kept of this.#kept) this.#keptRows += this.#write(kept)
      this.#isBehind = false
    } catch (error) {
      throw asUnavailable(this.#path, error)
    }
  }

  #isCommitDue(): boolean {
    const { rows, bytes, ms } = this.#pace
    const now = performance.now()
    if (now < this.#retryAt) return false
    return this.#keptRows >= rows || this.#keptBytes >= bytes || now - this.#beganAt >= ms
  }

  /** What was applied stays applied if it cannot be committed; the next commit has it. */
  #tryCommit(): void {
    const { checkpointBytes, checkpointMs } = this.#pace
    try {
      this.#commit()
      const passedMs = performance.now() - this.#checkpointedAt
      if (this.#bytesSinceCheckpoint >= checkpointBytes || passedMs >= checkpointMs) {
        this.#checkpoint('PASSIVE')
      }
    } catch {
      this.#retryAt = performance.now() + RETRY_MS
    }
  }

  #commit(): void {
    const { row } = this.#writer
    try {
      row.marks = { commit: row.marks.commit + 1, base: this.#durableCommit }
      saveStoreRow(this.#statements, row)
      this.#db.exec('COMMIT')
    } catch (error) {
      this.#isBehind = true
      const refusal = asUnavailable(this.#path, error)
      this.#catchUp()
      throw refusal
    }
    this.#bytesSinceCheckpoint += this.#keptBytes
    this.#kept = []
    this.#keptRows = 0
    this.#keptBytes = 0
  }

  /** Copies the write-ahead log into the file. True if that was all of it; then it is durable. */
  #checkpoint(mode: 'PASSIVE' | 'TRUNCATE'): boolean {
    const { batch, marks } = this.row
    const [busy, pages, copied] = this.#checkpoints[mode].get() as [number, number, number]
    if (busy !== 0 || pages !== copied) return false
    this.#durable = batch
    this.#durableCommit = marks.commit
    this.#bytesSinceCheckpoint = 0
    this.#checkpointedAt = performance.now()
    return true
  }

  #busy(): Error {
    const advice = 'another program reads it; end the transaction of that program and try again'
    return unavailable(this.#path, 'busy', advice)
  }
}

/** A change in the form in which it can be applied again. */
interface Kept {
  readonly bytes: Uint8Array
  readonly batch: number
  /** A move of times before it. */
  readonly move: TimeMove | null
  /** Whether everything that is due has to be deleted before it. */
  readonly prunesAll: boolean
}
