import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import type { JobRow } from '@fairlead/core'
import { invariant, isHex32, type JobFilter, type Snapshot } from '@fairlead/core/internal'
import { isIdPrefix } from '../id-prefix.ts'
import { type BatchRows, refuseOtherFormat, rowsOf } from './batch-codec.ts'
import { bytesOf } from './cells.ts'
import {
  type Columns,
  closeDatabase,
  type Database,
  openDatabase,
  type SqlValue,
  sqliteCode,
} from './driver.ts'
import { OWNER_ONLY } from './file-mode.ts'
import { readHolder, removeHolder, writeHolder } from './holder.ts'
import { ID_BYTES, KeyHasher } from './key-hashes.ts'
import { type KeyPage, KnownKeys, partsOf, partsOfHash } from './known-keys.ts'
import { LogEnd } from './log-end.ts'
import { LogFile, waitingBatches } from './log-file.ts'
import { migrate, refuseForeign } from './migrate.ts'
import { isRefusal } from './pending-others.ts'
import { PendingRows } from './pending-rows.ts'
import { jobRow, keyedRow, leaseRow, metaRow, providerRow, shareRow } from './rows.ts'
import { type DirectReads, SqliteReads } from './sqlite-reads.ts'
import { Statements } from './statements.ts'
import { StoredKeyHashes } from './stored-key-hashes.ts'
import { StoredRows } from './stored-rows.ts'
import { PACE, type Pace, type Pass, TableCheckpointer } from './table-checkpointer.ts'
import { type PruneTimes, TableWriter } from './table-writer.ts'
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

/** What can be told of a store without loading its jobs. */
export interface Overview {
  readonly liveJobs: number
  readonly meta: Snapshot['meta']
}

/** What a store has under the seal of one key. */
export interface Sealed {
  /** The id of the key, in hex. */
  readonly keyId: string
  readonly registrations: number
  readonly results: number
}

/** Which times become earlier, and by how much. */
export interface TimeMove {
  readonly afterMs: number
  readonly byMs: number
}

/** The tables and views in memory, which need the functions below. */
const CONNECTION = readFileSync(new URL('../../src/sqlite/connection.sql', import.meta.url), 'utf8')

const BUSY = 5
const NOT_WRITTEN = 'its giver could not write it to the log; try again'

/** Holds the pages of the table of key hashes (SQL: names), which are looked up at random, for a few million jobs. */
const CACHE_KIB = 65_536
/**
 * The log is checkpointed into the file when it has this many pages (64 MiB). The longer it may grow,
 * the more often a page has been written again by then, and is checkpointed once.
 */
const LOG_PAGES = 16_384

/** Opens a file, and makes one where none is. Only one process at a time can (STORE-3). */
export function openSqliteFile(
  path: string,
  options: SqliteOptions,
  {
    pass = (act) => act(),
    pace = PACE,
    logEnd = new LogEnd(),
  }: { readonly pass?: Pass; readonly pace?: Pace; readonly logEnd?: LogEnd } = {},
): SqliteFile {
  let db: Database | null = null
  try {
    makePrivate(path)
    db = openDatabase(path)
    // First of all: the lock is taken with the first access and held until the end. With it the index
    // of the log is in our own memory, and no other process can so much as read the file.
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    refuseForeign(db, path)
    configure(db, options)
    migrate(db, (store) => {
      for (const { batch } of waitingBatches(path, store)) refuseOtherFormat(batch)
    })
    writeHolder(path)
    return new SqliteFile(path, db, options, { pass, pace, logEnd })
  } catch (error) {
    db?.close()
    const isBusy = ((sqliteCode(error) ?? 0) & 0xff) === BUSY
    throw isBusy ? heldByAnother(path, error) : asUnavailable(path, error)
  }
}

/**
 * Makes the file where none is, so that only its owner may read it whatever the umask is (FILES-1). SQLite gives the
 * files beside it the same mode. One that is there is not touched: to close it here would give up the locks on it.
 */
function makePrivate(path: string): void {
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'a', OWNER_ONLY))
  } catch {
    // SQLite cannot make it either, and says why.
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

/** Reads of which the first argument is the id of a job or of a lease. */
const BY_ID: ReadonlySet<keyof DirectReads> = new Set([
  'job',
  'leases',
  'failures',
  'lease',
  'result',
  'timeline',
])
/** Reads that give a list. */
const LISTS: ReadonlySet<keyof DirectReads> = new Set(['leases', 'failures', 'timeline', 'jobs'])

/** An open file: every call is synchronous, but a commit may be over later, and on the one connection. */
export class SqliteFile {
  readonly #path: string
  readonly #db: Database
  readonly #statements: Statements
  readonly #stored: StoredRows
  readonly #writer: TableWriter
  readonly #pending: PendingRows
  readonly #reads: SqliteReads
  readonly #log: LogFile
  readonly #checkpointer: TableCheckpointer
  /** Batches that were refused. Who has not heard of all of them has built on one (STORE-2). */
  #refusals = 0
  readonly #logEnd: LogEnd
  readonly #pass: Pass
  /** A batch that was taken, and perhaps not written. */
  #unverified: Uint8Array | null = null
  /** Why the batch that was given last was refused. */
  #givenRefusal: unknown = null
  /** False while what is pending has to be read from the log again. */
  #isWhole = false
  #isClosed = false

  constructor(
    path: string,
    db: Database,
    { durability }: SqliteOptions,
    { pass, pace, logEnd }: { readonly pass: Pass; readonly pace: Pace; readonly logEnd: LogEnd },
  ) {
    this.#path = path
    this.#db = db
    this.#logEnd = logEnd
    this.#pass = pass
    db.function('name_of', (id) => hasher.hashOf(id as Uint8Array))
    db.function('name_of_key', (caller, txHash) =>
      hasher.hashOf(Buffer.concat([caller as Uint8Array, txHash as Uint8Array])),
    )
    db.exec(CONNECTION)
    this.#statements = new Statements(db)
    const {
      id,
      carried: checkpointed,
      checked,
    } = this.#statements.get('find-store').get() as Columns
    const hasher = new KeyHasher(id as Uint8Array)
    const known = new KnownKeys(async (from, limit) => {
      // Between two calls.
      await new Promise((resolve) => setImmediate(resolve))
      return this.#namesFrom(from, limit, pass)
    })
    this.#stored = new StoredRows(this.#statements, known)
    const storedHashes = new StoredKeyHashes(this.#statements, known, pace.hashesWaiting)
    this.#writer = new TableWriter(this.#statements, storedHashes)
    this.#pending = new PendingRows(this.#stored, hasher)
    this.#reads = new SqliteReads(this.#statements, this.#pending)
    this.#log = new LogFile(path, {
      id: id as Uint8Array,
      checkpointed: checkpointed as number,
      checked: (checked ?? checkpointed) as number,
      isSynced: durability !== 'relaxed',
      end: logEnd,
    })
    this.#checkpointer = new TableCheckpointer({
      db,
      statements: this.#statements,
      hasher,
      storedHashes,
      writer: this.#writer,
      pending: this.#pending,
      log: this.#log,
      pace,
      pass,
      mergeLog: () => this.#mergeLog(),
      abandon: () => this.#abandon(),
    })
    this.#mergeLog()
    this.#checkpointer.later()
    void known.begin()
  }

  /** A page of the key hashes in their table. Of a store that is closed there are none, which nobody asks for. */
  #namesFrom(from: number, limit: number, pass: Pass): KeyPage {
    let hashes: number[] = []
    if (!this.#isClosed) {
      pass(() => {
        hashes = this.#rows('list-names', ({ name }) => name as number, from, limit)
      })
    }
    const parts = new Int32Array(3 * hashes.length)
    for (const [i, hash] of hashes.entries()) {
      const { caller, tx, moreTx } = partsOfHash(hash)
      parts.set([caller, tx, moreTx], 3 * i)
    }
    return { parts, last: hashes.length < limit ? null : (hashes.at(-1) as number) + 1 }
  }

  /** All of a snapshot but the jobs, of which there may be a million. */
  loadAllButJobs(): Omit<Snapshot, 'jobs'> {
    return this.#seeingLive(() => ({
      leases: this.#rows('load-leases', leaseRow),
      providers: this.#rows('all-providers', providerRow),
      shares: this.#rows('all-shares', shareRow),
      lanes: this.#rows('all-lanes', keyedRow),
      meta: this.#meta(),
      lastEntry: this.#writer.journalEnd.seq + this.#pending.recordCount,
    }))
  }

  overview(): Overview {
    return this.#seeingLive(() => ({
      liveJobs: this.#rows('count-live-jobs', ({ live }) => live as number)[0] ?? 0,
      meta: this.#meta(),
    }))
  }

  /** How much of it is encrypted with which key; it reads all payloads and results. */
  sealed(): Sealed[] {
    return this.#seeingAll(() =>
      this.#rows('count-sealed', ({ key_id, registrations, results }) => ({
        keyId: key_id as string,
        registrations: registrations as number,
        results: results as number,
      })),
    )
  }

  /** A page of the jobs that are alive, in order of acceptance. */
  loadJobs(afterSeq: number, limit: number): JobRow[] {
    return this.#seeingLive(() => this.#rows('load-jobs', jobRow, afterSeq, limit))
  }

  /** Whether a read has to see so many rows in their tables that commits had better go on meanwhile. */
  readHasToWait(name: keyof DirectReads, args: readonly unknown[]): boolean {
    if (!this.#checkpointer.wouldHoldUp()) return false
    if (name === 'jobs') {
      const filter = args[0] as JobFilter
      // Few ids begin alike.
      if (filter.idPrefix !== undefined) return false
      const { low, high } = rangeOf(filter, this.#reads.jobs(filter))
      return this.#checkpointer.wouldHoldUp(this.#pending.seqsBetween(low, high).length)
    }
    return name === 'assignmentsSince' || name === 'everything'
  }

  /** Whether so much waits that commits had better go on meanwhile. */
  checkpointHasToWait(): boolean {
    return this.#checkpointer.wouldHoldUp()
  }

  /** All that waits goes into its tables, and all of SQLite's own log into the file. */
  checkpoint(): void {
    this.#seeing(
      () => this.#checkpointer.finish(),
      () => this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)'),
    )
  }

  /** Acts when it need not wait any more. */
  whenCheckpointed(act: () => void): void {
    this.#checkpointer.whenLess(act)
  }

  /** Puts into the tables what this read looks for there, and reads. */
  read(name: keyof DirectReads, args: readonly unknown[]): unknown {
    if (isOfNobody(name, args)) return LISTS.has(name) ? [] : null
    const read = () => (this.#reads[name] as (...given: unknown[]) => unknown)(...args)
    if (this.#reads.lookAtPending.has(name)) {
      this.#mergeLog()
      return read()
    }
    if (name === 'jobs') return this.#list(args[0] as JobFilter)
    const isById = BY_ID.has(name)
    if (!isById && name !== 'journal' && name !== 'round') return this.#seeingAll(read)
    return this.#seeing(() => {
      if (isById)
        this.#checkpointer.writeJob(bytesOf(args[0] as string), () => this.#seqOf(name, args))
      if (name === 'timeline' || name === 'journal') this.#checkpointer.writeRecords()
      if (name === 'round') this.#checkpointer.writeRounds()
    }, read)
  }

  /** The number of a job that is in its table. */
  #seqOf(name: keyof DirectReads, args: readonly unknown[]): number | null {
    const id = bytesOf(args[0] as string)
    return name === 'lease' ? this.#stored.jobOfLease(id) : this.#stored.seqOf(id)
  }

  /**
   * A page of jobs, and the jobs that wait are written as far as they can be on it: what they have become
   * may bring a job onto the page or take one off, so it is read again until there is none left.
   */
  #list(filter: JobFilter): JobRow[] {
    if (filter.idPrefix !== undefined) return this.#listByPrefix(filter, filter.idPrefix)
    for (let range = NO_JOBS; ; ) {
      const page = this.#seeing(
        () => this.#checkpointer.writeJobsBetween(range.low, range.high),
        () => this.#reads.jobs(filter),
      )
      range = rangeOf(filter, page)
      if (this.#pending.seqsBetween(range.low, range.high).length === 0) return page
    }
  }

  #listByPrefix(filter: JobFilter, idPrefix: string): JobRow[] {
    return this.#seeing(
      () => this.#checkpointer.writeJobsByPrefix(idPrefix.slice('0x'.length)),
      () => this.#reads.jobs(filter),
    )
  }

  /** Payloads one behind the other, and the length of each; −1 where there is none. */
  payloads(seqs: readonly number[]): PackedPayloads {
    this.#mergeLog()
    const found = this.#reads.payloads(seqs)
    const lengths = found.map((payload) => payload?.length ?? -1)
    const bytes = Buffer.concat(found.filter((payload) => payload !== null))
    return { bytes: Uint8Array.from(bytes), lengths }
  }

  /** The keys of the next jobs after a number, whether they are in their table yet or not. */
  jobKeys(afterSeq: number, limit: number): KeyPage {
    this.#mergeLog()
    const rows = this.#statements.get('list-job-keys').all(afterSeq, limit)
    const last = rows.length < limit ? null : (rows.at(-1)?.['seq'] as number)
    const waiting = this.#pending.keysBetween(afterSeq, (last ?? Number.POSITIVE_INFINITY) + 1)
    const stored = rows.map((row) => [row['caller'], row['tx_hash']] as [Uint8Array, Uint8Array])
    return { parts: partsOf([...stored, ...waiting.map(splitKey)]), last }
  }

  /**
   * All of the batch is in the log when it is over, or none of it (STORE-14). That may be later: then rows are checkpointed
   * into their tables while the log is synced, and no other call is made before it is over.
   */
  commit(bytes: Uint8Array, refusalsHeard: number): Promise<void> | null {
    if (refusalsHeard < this.#refusals) {
      throw builtOnRefused(this.#path)
    }
    try {
      this.#mergeLog()
      const batch = rowsOf(bytes)
      const hasToDelete = this.#hasToDelete(batch)
      if (hasToDelete && !this.#deletesLater(batch)) {
        this.#commitWithout(batch)
        return null
      }
      this.#take(batch)
      const isOver = (): void => {
        // Not before: of a batch that is refused nothing happens.
        if (hasToDelete) this.#checkpointer.deleteLater(pruneTimesOf(batch))
        this.#checkpointer.later()
      }
      if (this.#logEnd.isSynced && this.#checkpointer.hasWorkMeanwhile) {
        const synced = this.#log.appendBeside(bytes)
        this.#checkpointer.later()
        return synced.then(isOver, (error) => {
          this.#pass(() => this.#refuse())
          throw error
        })
      }
      this.#log.append(bytes)
      isOver()
      return null
    } catch (error) {
      this.#refuse()
      throw error
    }
  }

  /**
   * The same for a batch that its giver writes to the log meanwhile (STORE-17). Whether it did is looked at later: to
   * wait for it here, and be woken, would take the processor from the giver.
   */
  takeGiven(): void {
    const bytes = this.#logEnd.given()
    this.#givenRefusal = null
    try {
      this.#mergeLog()
      this.#take(rowsOf(bytes))
    } catch (error) {
      this.#log.takeBack(this.#log.last + 1, bytes)
      this.#givenRefusal = error
      this.#refuse()
      return
    }
    this.#unverified = bytes
    this.#logEnd.noteChecked(this.#log.last + 1)
    this.#checkpointer.later()
  }

  /** Throws what is to be said against the batch that was given last; its giver is done with it. */
  judgeGiven(): void {
    this.#mergeLog()
    if (this.#givenRefusal !== null) throw this.#givenRefusal
  }

  /** Before anything else happens: what could not be written has not happened. */
  #verifyGiven(): void {
    const bytes = this.#unverified
    this.#unverified = null
    if (bytes === null || this.#log.hasWritten(bytes)) return
    this.#givenRefusal = unavailable(this.#path, 'io', NOT_WRITTEN)
    this.#refuse()
  }

  /** What a batch may not do is refused. */
  #take(batch: BatchRows): void {
    // A sign of life brings none, and is no work.
    const jobs = Math.max(batch.newJobs.length, batch.jobs.length)
    if (jobs > 0) this.#checkpointer.keepUp(jobs)
    this.#pending.merge(batch, this.#log.last + 1, this.#writer.journalEnd.seq)
  }

  #refuse(): void {
    this.#refusals++
    this.#abandon()
  }

  /** Whether what a batch says may be deleted or erased is there at all: every minute one asks, and mostly nothing is. */
  #hasToDelete(batch: BatchRows): boolean {
    const { pruneEndedBefore: prune, eraseEndedBefore: erase } = batch
    const { pruneResultsBefore: results, firstEnd, cutJournalAt } = batch
    if (cutJournalAt !== null) return true
    if (results !== null && this.#statements.get('find-due-result').get(results) !== undefined) {
      return true
    }
    const before = Math.max(prune ?? 0, erase ?? 0)
    if (before === 0) return false
    if ((firstEnd ?? before) < before || this.#pending.mayEndBefore(before)) return true
    if (prune !== null && this.#statements.get('find-ended').get(prune) !== undefined) return true
    return this.#hasToErase(batch)
  }

  #hasToErase({ eraseEndedFrom: from, eraseEndedBefore: before }: BatchRows): boolean {
    if (from === null || before === null) return false
    return this.#statements.get('find-ended-registrations').get(from, before) !== undefined
  }

  /**
   * Whether all that a batch deletes is old jobs and results in the tables, and to do it at once would hold up the
   * commits, because much waits or much is to go: then they go by and by, and the batch is one like others.
   */
  #deletesLater(batch: BatchRows): boolean {
    const { firstEnd, cutJournalAt } = batch
    if (cutJournalAt !== null || this.#hasToErase(batch)) return false
    const times = pruneTimesOf(batch)
    // A span to erase is given once, so registrations that wait and ended in it do not wait any longer.
    const before = Math.max(times.endedBefore ?? 0, batch.eraseEndedBefore ?? 0)
    if ((firstEnd ?? before) < before || this.#pending.mayEndBefore(before)) return false
    return this.#checkpointer.wouldHoldUp() || this.#checkpointer.isMuchToDelete(times)
  }

  /**
   * A batch that deletes does without the log: the keys of what is deleted are free for what is new,
   * so all that waits has to be in its tables first, and the new rows are best written there, too.
   */
  #commitWithout(batch: BatchRows): void {
    const times = pruneTimesOf(batch)
    const { cutJournalAt } = batch
    this.#checkpointer.finish()
    this.#pending.checkpointEnds(this.#log.last)
    this.#checkpointer.begin()
    // Before what is deleted, so that of personal data nothing is left in free places either.
    this.#erase(batch)
    this.#writer.prune(times)
    this.#stored.forget()
    this.#pending.merge(batch, this.#log.last, this.#writer.journalEnd.seq)
    this.#checkpointer.writeAll()
    // Once more, for jobs whose own end in this batch lies before the time (STORE-10).
    this.#erase(batch)
    this.#writer.prune(times)
    if (cutJournalAt !== null) this.#writer.cutJournal(cutJournalAt)
    this.#checkpointer.end()
    this.#pending.checkpointEnds(this.#log.last)
  }

  /** Times of jobs, leases and results after one become earlier, in a transaction with the rows of a batch (CLOCK-1). */
  moveTimes({ afterMs, byMs }: TimeMove, bytes: Uint8Array): void {
    this.#seeing(
      () => {
        const batch = rowsOf(bytes)
        this.#checkpointer.finish()
        this.#pending.checkpointEnds(this.#log.last)
        this.#checkpointer.begin()
        for (const name of ['move-jobs', 'move-leases', 'move-results']) {
          this.#statements.get(name).run(byMs, afterMs)
        }
        this.#stored.forget()
        this.#pending.merge(batch, this.#log.last, this.#writer.journalEnd.seq)
        this.#checkpointer.writeAll()
        this.#checkpointer.end()
        this.#pending.checkpointEnds(this.#log.last)
      },
      () => {},
    )
  }

  /** What is erased is written over, and not only left to be (STORE-16). */
  #erase({ eraseEndedFrom: from, eraseEndedBefore: before }: BatchRows): void {
    if (from === null || before === null) return
    this.#db.exec('PRAGMA secure_delete = ON')
    try {
      this.#writer.erase({ from, before })
    } finally {
      this.#db.exec('PRAGMA secure_delete = OFF')
    }
  }

  close(): void {
    this.#isClosed = true
    this.#checkpointer.stop()
    try {
      this.#mergeLog()
      this.#checkpointer.finish()
      this.#log.close()
    } catch {
      // What cannot be written stays in the log, and is found there by the next to open the file.
    } finally {
      // While the lock is still held: afterwards the name could be that of the next holder.
      removeHolder(this.#path)
      closeDatabase(this.#db)
    }
  }

  /** Reads with all that is alive in its tables; what has ended meanwhile may wait. */
  #seeingLive<Answer>(read: () => Answer): Answer {
    return this.#seeing(() => this.#checkpointer.writeLive(), read)
  }

  /** Reads with all rows in their tables. */
  #seeingAll<Answer>(read: () => Answer): Answer {
    return this.#seeing(() => {
      if (!this.#pending.isEmpty) this.#checkpointer.writeAll()
    }, read)
  }

  /** Reads when what it looks for was put into the tables. After an error that has not happened. */
  #seeing<Answer>(write: () => void, read: () => Answer): Answer {
    try {
      this.#mergeLog()
      write()
      return read()
    } catch (error) {
      this.#abandon()
      throw error
    }
  }

  /** After an error nothing that is not committed counts, here or in the tables. */
  #abandon(): void {
    this.#isWhole = false
    try {
      this.#checkpointer.rollBack()
    } catch {
      // It is tried again before anything else is done.
    }
  }

  /** Before each act. At the start, and after an error: what is pending is what the log has. */
  #mergeLog(): void {
    this.#verifyGiven()
    if (this.#isWhole) return
    invariant(!this.#log.isSyncing, 'a log is read when all of it is known')
    this.#checkpointer.rollBack()
    this.#pending.clear()
    this.#stored.forget()
    this.#writer.afterTransaction({ didFail: true })
    const { carried: checkpointed, checked } = this.#statements.get('find-store').get() as Columns
    const batches = this.#log.batchesAfter(checkpointed as number)
    if (batches.length > 0) this.#checkpointer.begin()
    const found = batches.map(({ number, batch }) => ({ number, batch, rows: rowsOf(batch) }))
    const isLookedAt = (number: number) => number <= ((checked as number | null) ?? number)
    // Of all of them before any is merged: a job that went to one provider after the other may be in its
    // table with its last lease, beside which the one before would be a second live one.
    for (const { number, rows } of found) if (isLookedAt(number)) this.#stored.forgetNew(rows)
    for (const { number, batch, rows } of found) {
      const { seq } = this.#writer.journalEnd
      if (isLookedAt(number)) {
        this.#pending.mergeAgain(rows, number, seq)
        continue
      }
      try {
        this.#pending.merge(rows, number, seq)
      } catch (error) {
        if (number !== this.#log.last || !isRefusal(error)) throw error
        // Its giver died before it was looked at, and nobody was told that it was taken (STORE-17).
        this.#abandon()
        this.#log.takeBack(number, batch)
        return this.#mergeLog()
      }
    }
    this.#isWhole = true
  }

  #meta(): Snapshot['meta'] {
    return Object.fromEntries(
      this.#rows('all-meta', metaRow).map(({ name, value }) => [name, value]),
    )
  }

  #rows<Row>(name: string, row: (columns: Columns) => Row, ...params: SqlValue[]): Row[] {
    return this.#statements
      .get(name)
      .all(...params)
      .map(row)
  }
}

/** Whether a read asks for what is no id at all, under which nothing can be (STORE-8). */
function isOfNobody(name: keyof DirectReads, args: readonly unknown[]): boolean {
  if (BY_ID.has(name)) return !isHex32(args[0])
  if (name !== 'jobs') return false
  const { caller, idPrefix } = args[0] as JobFilter
  if (caller !== undefined && !isHex32(caller)) return true
  return idPrefix !== undefined && !isIdPrefix(idPrefix)
}

function pruneTimesOf({ pruneEndedBefore, pruneResultsBefore }: BatchRows): PruneTimes {
  return { endedBefore: pruneEndedBefore, resultsBefore: pruneResultsBefore }
}

/** Of a caller's id and a tx_hash behind it. */
function splitKey(key: Uint8Array): [caller: Uint8Array, txHash: Uint8Array] {
  return [key.subarray(0, ID_BYTES), key.subarray(ID_BYTES)]
}

/** Numbers between two others, these excluded. */
interface Range {
  readonly low: number
  readonly high: number
}

const NO_JOBS: Range = { low: 0, high: 0 }

/** The numbers of the jobs that may come onto a page or go from it. */
function rangeOf(filter: JobFilter, page: readonly JobRow[]): Range {
  const last = page.length === filter.limit ? page.at(-1) : undefined
  const { afterSeq: after, beforeSeq } = filter
  if (beforeSeq !== undefined)
    return { low: Math.max(after, (last?.seq ?? 0) - 1), high: beforeSeq }
  return { low: after, high: (last?.seq ?? Number.POSITIVE_INFINITY) + 1 }
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
