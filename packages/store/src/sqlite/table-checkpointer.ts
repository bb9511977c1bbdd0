import type { Database } from './driver.ts'
import type { KeyHasher } from './key-hashes.ts'
import type { LogFile } from './log-file.ts'
import type { PendingJob } from './pending-job.ts'
import type { PendingRows } from './pending-rows.ts'
import type { Statements } from './statements.ts'
import type { StoredKeyHashes } from './stored-key-hashes.ts'
import type { PruneTimes, TableWriter } from './table-writer.ts'

/** How what waits in the log is checkpointed into its tables. */
export interface Pace {
  /** Rows wait for so long, to be checkpointed together. */
  readonly waitMs: number
  /** Each commit checkpoints some of those that have waited for so long. */
  readonly alongMs: number
  /** With so many jobs or bytes waiting it begins at once, and goes on beside the commits that come. */
  readonly jobsAtOnce: number
  readonly bytesAtOnce: number
  /** Jobs that are checkpointed between two calls: as many as a statement takes, or a multiple of it. */
  readonly sliceJobs: number
  /** Jobs in one transaction. Its commit writes their pages and syncs them, and holds up all calls. */
  readonly jobsTogether: number
  /** The same where nothing presses. */
  readonly jobsInCalm: number
  /** Without a commit of jobs for so long nobody is held up; before, only commits checkpoint. */
  readonly quietMs: number
  /** So many key hashes wait until those of others come beside them into their table. */
  readonly hashesWaiting: number
}

const MIB = 1_048_576

/**
 * What waits is in memory, and is merged anew after a crash: these bound both. Within them the log takes a
 * burst at the speed of the disk, and a job that ends meanwhile is written into the tables once.
 */
export const PACE: Pace = {
  waitMs: 10_000,
  alongMs: 10_000,
  jobsAtOnce: 250_000,
  bytesAtOnce: 384 * MIB,
  sliceJobs: 20,
  jobsTogether: 8_000,
  jobsInCalm: 1_000,
  quietMs: 50,
  hashesWaiting: 131_072,
}

/** The slice behind a commit takes twice the jobs that it brings, of which key hashes and rounds are a third. */
const ALONG_TIMES = 2
/**
 * Behind single jobs it takes less of what has not waited long: one job for each where the first has waited this many
 * times `alongMs`, and more or less in proportion. A transaction that ends holds up the next of them, and after a burst
 * one would follow the other.
 */
const UNHURRIED = 2
const ALONG_TIMES_MIN = 0.5
/** So much of it at a time; and what commits owe beyond this is let off. */
const ALONG_MAX = 60
const OWED_MAX = 120
/**
 * Commits of fewer jobs than this are of single jobs, and for each of them somebody waits: a slice that came at once
 * would take the processor from those who were just answered. What they owe is checkpointed together, as much as fills the
 * statements: a few rows at a time take several times as long.
 */
const FEW_JOBS = 8
const ALONG_AFTER_MS = 2
/** How often it is noted which batch was the newest at a time. */
const MARK_MS = 250

/** With so much more than that, commits are slowed down to the pace at which it is checkpointed. */
const SLOWED_AT = 1.5
/** Then each of them checkpoints so many times the jobs that it brings. */
const TIMES_WHEN_SLOWED = 2
/** Jobs that are checkpointed between two calls where a read waits for them. */
const JOBS_IN_HASTE = 256
/** Jobs whose cells, and records whose bytes, are made before any of them is written, where all are. */
const JOBS_AT_A_TIME = 100
const RECORDS_AT_A_TIME = 320
/** A read that has to see all rows waits until no more jobs than this are to be written for it. */
const JOBS_FOR_A_READ = 2_000

/** More old jobs than this are not deleted at once, but so many of them in a transaction of their own, so often. */
const DELETED_AT_ONCE = 1_000
const DELETED_AT_A_TIME = 50
const DELETE_EVERY_MS = 50

/** Records of the journal that are checkpointed with a slice; what is more than these waits for the last. */
const RECORDS_PER_JOB = 4
/** Key hashes or keyed rows that are checkpointed in the place of a job. */
const ROWS_PER_JOB = 8
/** Key hashes that move into their table with each job: twice as many as most jobs have. */
const MOVED_PER_JOB = 6

/** How it gets at the file when nobody called; see `ThreadGate`. */
export type Pass = (act: () => void) => void

/** A checkpoint that goes on: the newest batch when it began, and what is left of what it began with. */
interface Checkpoint {
  readonly last: number
  /** It goes on with commits, and not by itself. */
  isAlong: boolean
  jobsLeft: number
  roundsLeft: number
  keyedRowsLeft: number
  /** Older key hashes, which move into their table. */
  hashesLeft: number
}

interface Parts {
  readonly db: Database
  readonly statements: Statements
  readonly hasher: KeyHasher
  readonly storedHashes: StoredKeyHashes
  readonly writer: TableWriter
  readonly pending: PendingRows
  readonly log: LogFile
  readonly pace: Pace
  readonly pass: Pass
  /** Makes sure that what is pending is what the log has. */
  readonly mergeLog: () => void
  /** After an error nothing that is not committed counts. */
  readonly abandon: () => void
}

/**
 * Checkpoints: writes rows from the log into their tables (STORE-14): by itself after a while or when many wait, along with
 * the commits of a load that goes on, a few between any two calls, all in one transaction that stays open
 * until the last of them is there; and at once those that a read looks for.
 */
export class TableCheckpointer {
  readonly #parts: Parts
  #checkpoint: Checkpoint | null = null
  #timer: NodeJS.Timeout | null = null
  #alongTimer: NodeJS.Timeout | null = null
  #immediate: NodeJS.Immediate | null = null
  #lastCommitAt = 0
  #lastJobs = 0
  /** Jobs that commits have yet to checkpoint. */
  #owed = 0
  /** Jobs that were written in the transaction that is open. */
  #written = 0
  /** What is from before these times goes by and by; null if nothing is left. */
  #due: PruneTimes | null = null
  #deleteTimer: NodeJS.Timeout | null = null
  /** The newest batches at some times, oldest first. */
  readonly #marks: { readonly at: number; readonly batch: number }[] = []
  /** Reads that wait until there is less to write. */
  #readers: (() => void)[] = []

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Sees to it that what waits is checkpointed in time. */
  later(waitMs = this.#parts.pace.waitMs): void {
    if (this.#isAtOnce) {
      this.#immediate ??= setImmediate(() => {
        this.#immediate = null
        this.#inTime({ isDue: false })
      })
    } else if (this.#isOwed) {
      this.#alongTimer ??= setTimeout(() => {
        this.#alongTimer = null
        this.#inTime({ isDue: false })
      }, ALONG_AFTER_MS)
    } else if (!this.#parts.log.isEmpty) {
      this.#timer ??= setTimeout(() => {
        this.#timer = null
        this.#inTime({ isDue: true })
      }, waitMs)
    }
  }

  /** Whether it goes on as soon as the thread has nothing else to do. */
  get #isAtOnce(): boolean {
    const isAlong = this.#isOwed && !this.#areFew
    return this.#isPressed || this.#checkpoint?.isAlong === false || isAlong
  }

  /** Whether there is something to checkpoint while the log is synced. */
  get hasWorkMeanwhile(): boolean {
    return this.#isAtOnce && this.#canGoOn
  }

  /** Whether a checkpoint goes on that is not at its end. To begin and to end one takes a log that is at rest. */
  get #canGoOn(): boolean {
    return this.#checkpoint !== null && !this.#isAtEnd(this.#checkpoint)
  }

  /** Nobody is held up by what is checkpointed now. */
  get #isQuiet(): boolean {
    return performance.now() - this.#lastCommitAt >= this.#parts.pace.quietMs
  }

  /** Whether commits have as much to checkpoint as is worth it. */
  get #isOwed(): boolean {
    const least = this.#areFew ? ALONG_TIMES * this.#parts.pace.sliceJobs : 1
    return this.#owed >= least && this.#hasOld
  }

  get #areFew(): boolean {
    return this.#lastJobs < FEW_JOBS
  }

  /** Whether something has waited so long that commits checkpoint it. */
  get #hasOld(): boolean {
    return this.#checkpoint !== null || this.#waitedMs >= this.#parts.pace.alongMs
  }

  /** How long the job that has waited longest has, to within `MARK_MS`. */
  get #waitedMs(): number {
    const first = this.#parts.pending.firstBatch
    if (first === null) return 0
    while ((this.#marks[1]?.batch ?? Number.POSITIVE_INFINITY) <= first) this.#marks.shift()
    return performance.now() - (this.#marks[0]?.at ?? Number.POSITIVE_INFINITY)
  }

  /** How many jobs are checkpointed for each that a commit brings. */
  get #times(): number {
    if (!this.#areFew) return ALONG_TIMES
    const times = this.#waitedMs / (UNHURRIED * this.#parts.pace.alongMs)
    return Math.min(Math.max(times, ALONG_TIMES_MIN), ALONG_TIMES)
  }

  get #isPressed(): boolean {
    const { pending, log, pace } = this.#parts
    const isMuch = pending.jobCount >= pace.jobsAtOnce || log.waitingBytes >= pace.bytesAtOnce
    return isMuch || this.#readers.length > 0
  }

  /** Before a commit of so many jobs: where too much waits, it takes its part in the work. */
  keepUp(jobs: number): void {
    const { pending, log, pace } = this.#parts
    const now = performance.now()
    this.#lastCommitAt = now
    this.#lastJobs = jobs
    const owed = this.#hasOld ? this.#owed : 0
    this.#owed = Math.min(OWED_MAX, owed + this.#times * jobs)
    if (now - (this.#marks.at(-1)?.at ?? Number.NEGATIVE_INFINITY) >= MARK_MS) {
      this.#marks.push({ at: now, batch: log.last + 1 })
    }
    const { jobsAtOnce, bytesAtOnce } = pace
    if (pending.jobCount > SLOWED_AT * jobsAtOnce || log.waitingBytes > SLOWED_AT * bytesAtOnce) {
      this.#slice(Math.max(pace.sliceJobs, TIMES_WHEN_SLOWED * jobs))
    }
  }

  /** Whether a read that has to see this many jobs in their tables would hold up the commits. */
  wouldHoldUp(jobs = this.#parts.pending.jobCount): boolean {
    return jobs > JOBS_FOR_A_READ
  }

  /** Acts once less is to be written than would hold up the commits. */
  whenLess(act: () => void): void {
    this.#readers.push(act)
    this.later()
  }

  /** Whether more jobs, or results that outlived theirs, are to go than are deleted at once. */
  isMuchToDelete({ endedBefore, resultsBefore }: PruneTimes): boolean {
    if (this.#nthEnd(endedBefore, DELETED_AT_ONCE) !== undefined) return true
    return this.#nthKept(resultsBefore, DELETED_AT_ONCE) !== undefined
  }

  /**
   * Jobs in the tables that ended before a time go a few at a time (STORE-10), each few in a transaction of their
   * own: within one that stays open while batches come, a batch could have keys that are free only once it is
   * committed. While much is checkpointed, as many go after each transaction as it checkpointed. So do results that outlived
   * their jobs.
   *
   * The last time for results counts for all jobs that are left. It says the same of jobs that an earlier batch
   * deletes; where it is lower, those results stay to be found, and go when it has passed them.
   */
  deleteLater({ endedBefore, resultsBefore }: PruneTimes): void {
    const earlier = this.#due?.endedBefore ?? null
    const isLater = earlier === null || (endedBefore !== null && endedBefore > earlier)
    this.#due = { endedBefore: isLater ? endedBefore : earlier, resultsBefore }
    this.#deleteSoon()
  }

  #deleteSoon(): void {
    this.#deleteTimer ??= setTimeout(() => {
      this.#deleteTimer = null
      const { db, log, pass, mergeLog, abandon } = this.#parts
      pass(() => {
        try {
          if (log.isSyncing) return
          mergeLog()
          if (!db.isTransaction) this.#deleteSome(DELETED_AT_A_TIME)
        } catch {
          // It is tried again, until whoever has asked for it is told that nothing can be written.
          abandon()
        }
      })
      if (this.#due !== null) this.#deleteSoon()
    }, DELETE_EVERY_MS)
  }

  #deleteSome(most: number): void {
    const { writer, pending } = this.#parts
    if (this.#due === null) return
    const { endedBefore, resultsBefore } = this.#due
    const jobs = portion(endedBefore, this.#nthEnd(endedBefore, most))
    if (jobs !== null && pending.mayEndBefore(jobs)) return
    const results = portion(resultsBefore, this.#nthKept(resultsBefore, most))
    this.begin()
    if (jobs !== null) writer.pruneJobs(jobs, resultsBefore)
    if (results !== null) writer.pruneKeptResults(results)
    this.end()
    if (jobs === endedBefore && results === resultsBefore) this.#due = null
  }

  #nthEnd(before: number | null, n: number): number | undefined {
    return this.#parts.statements.get('find-nth-end').get(before, n)?.['ended_at'] as
      | number
      | undefined
  }

  #nthKept(before: number | null, n: number): number | undefined {
    return this.#parts.statements.get('find-nth-kept-result').get(before, n)?.['at'] as
      | number
      | undefined
  }

  /** All that waits, and what was begun, for good. */
  finish(): void {
    const { log } = this.#parts
    if (log.isEmpty) return
    this.#start()
    this.writeAll()
    this.#commit({ last: log.last })
  }

  /** All rows into their tables. They need not stay there: without a commit they can be read. */
  writeAll(): void {
    const { writer, pending, log, storedHashes } = this.#parts
    this.begin()
    // Not all at once: their cells are in memory until they are written.
    while (pending.jobCount > 0) this.#writeJobs(pending.takeJobs(JOBS_AT_A_TIME))
    writer.writeKeyedRows(pending.others.takeKeyedRows(pending.others.keyedRowCount))
    this.writeRecords()
    this.writeRounds()
    while (pending.hasKeyHashes) storedHashes.write(pending.takeKeyHashes(Number.POSITIVE_INFINITY))
    writer.writeSmallTables(pending.others.takeSmallTables())
    if (this.#checkpoint === null) return
    const { isAlong } = this.#checkpoint
    this.#checkpoint = {
      last: log.last,
      isAlong,
      jobsLeft: 0,
      roundsLeft: 0,
      keyedRowsLeft: 0,
      hashesLeft: 0,
    }
  }

  /** What is alive, what was when it came into its table, and all that is not of a job. */
  writeLive(): void {
    const { writer, pending } = this.#parts
    if (pending.isEmpty) return
    this.#writeJobs(pending.takeLive())
    this.begin()
    writer.writeKeyedRows(pending.others.takeKeyedRows(pending.others.keyedRowCount))
    writer.writeSmallTables(pending.others.takeSmallTables())
  }

  /** The job that has this id, or a lease of this id, so that it is found by it. */
  writeJob(id: Uint8Array, storedSeq: () => number | null): void {
    const { pending, hasher, storedHashes } = this.#parts
    const newSeq = pending.seqOf(id)
    const seq = newSeq ?? storedSeq()
    const job = seq === null ? null : pending.takeJob(seq)
    if (job !== null) this.#writeJobs([job])
    // Its other key hashes come with those of other jobs, in their order.
    if (newSeq !== null) {
      this.begin()
      storedHashes.write([hasher.hashOf(id), newSeq])
    }
  }

  /** The jobs between two numbers, these excluded. */
  writeJobsBetween(low: number, high: number): void {
    const { pending } = this.#parts
    const taken = pending.seqsBetween(low, high).map((seq) => pending.takeJob(seq) as PendingJob)
    this.#writeJobs(taken)
  }

  /** The jobs whose ids begin with these hex digits, and all key hashes, so that they are found by them. */
  writeJobsByPrefix(digits: string): void {
    const { pending, storedHashes } = this.#parts
    const seqs = pending.seqsByPrefix(digits)
    this.#writeJobs(seqs.map((seq) => pending.takeJob(seq) as PendingJob))
    if (!pending.hasKeyHashes) return
    this.begin()
    while (pending.hasKeyHashes) storedHashes.write(pending.takeKeyHashes(Number.POSITIVE_INFINITY))
  }

  /** The records of the journal. */
  writeRecords(): void {
    this.#append(this.#parts.pending.recordCount)
  }

  writeRounds(): void {
    const { writer, pending } = this.#parts
    if (pending.others.roundCount === 0) return
    this.begin()
    writer.writeRounds(pending.others.takeRounds(pending.others.roundCount))
    writer.dropOldRounds()
  }

  begin(): void {
    const { db } = this.#parts
    if (!db.isTransaction) db.exec('BEGIN IMMEDIATE')
  }

  end(): void {
    this.#parts.db.exec('COMMIT')
    this.#parts.writer.afterTransaction({ didFail: false })
  }

  /** Undoes what is not committed. */
  rollBack(): void {
    const { db } = this.#parts
    this.#checkpoint = null
    this.#written = 0
    // Some errors have ended the transaction already.
    if (db.isTransaction) db.exec('ROLLBACK')
  }

  /** Nothing is checkpointed by itself any more. */
  stop(): void {
    for (const timer of [this.#timer, this.#alongTimer, this.#deleteTimer]) {
      if (timer !== null) clearTimeout(timer)
    }
    this.#due = null
    if (this.#immediate !== null) clearImmediate(this.#immediate)
    this.#runReaders()
  }

  #inTime({ isDue }: { readonly isDue: boolean }): void {
    const { pass, pace, pending, log, mergeLog, abandon } = this.#parts
    // Once the log is synced, it is seen to.
    if (log.isSyncing && !this.#canGoOn) return
    const isQuiet = this.#isQuiet
    pass(() => {
      try {
        mergeLog()
        const isByItself = (isDue && isQuiet) || this.#checkpoint?.isAlong === false
        if (isByItself || this.#isPressed)
          this.#slice(this.#readers.length > 0 ? JOBS_IN_HASTE : pace.sliceJobs)
        else if (this.#isOwed) this.#goAlong()
      } catch {
        // What cannot be written stays in the log; when that cannot grow, the next batch is refused.
        abandon()
        this.#runReaders()
      }
      if (!this.wouldHoldUp()) this.#runReaders()
      // What was due, and what the last checkpoint left, has waited long enough.
      const isOverdue = pending.jobCount >= pace.jobsInCalm || (isDue && !isQuiet)
      const soonMs = isQuiet ? 0 : pace.quietMs
      this.later(isOverdue ? soonMs : pace.waitMs)
    })
  }

  /** Some of what commits owe. */
  #goAlong(): void {
    const { log, pace } = this.#parts
    // A sync takes no longer than that.
    const most = log.isSyncing ? pace.sliceJobs : ALONG_MAX
    const jobs = Math.floor(Math.min(this.#owed, most))
    this.#owed -= jobs
    this.#slice(jobs, { isAlong: true })
  }

  #runReaders(): void {
    const readers = this.#readers
    this.#readers = []
    for (const read of readers) read()
  }

  /**
   * Some of what waited when the checkpoint began, as much as so many jobs: jobs, then rounds, keyed rows,
   * the key hashes of the jobs and older ones; and in the end a commit. What came meanwhile is for the next checkpoint.
   */
  #slice(jobs: number, { isAlong = false } = {}): void {
    const { writer, pending, log, storedHashes } = this.#parts
    const checkpoint = this.#start(isAlong)
    checkpoint.isAlong &&= isAlong
    const most = Math.min(jobs, checkpoint.jobsLeft)
    this.#writeJobs(pending.takeJobs(most))
    writer.append(pending.takeRecords(RECORDS_PER_JOB * most))
    checkpoint.jobsLeft -= most
    const rounds = Math.min(jobs - most, checkpoint.roundsLeft)
    writer.writeRounds(pending.others.takeRounds(rounds))
    checkpoint.roundsLeft -= rounds
    if (rounds > 0 && checkpoint.roundsLeft === 0) writer.dropOldRounds()
    let rows = ROWS_PER_JOB * (jobs - most - rounds)
    const keyedRows = pending.others.takeKeyedRows(Math.min(rows, checkpoint.keyedRowsLeft))
    writer.writeKeyedRows(keyedRows)
    checkpoint.keyedRowsLeft -= keyedRows.length
    rows -= keyedRows.length
    if (rows > 0) {
      const cells = pending.takeKeyHashes(rows)
      storedHashes.write(cells)
      rows -= cells.length / 2
    }
    const moved = Math.min(rows, checkpoint.hashesLeft)
    storedHashes.move(moved)
    checkpoint.hashesLeft -= moved
    if (this.#isAtEnd(checkpoint) && !log.isSyncing) this.#commit(checkpoint)
  }

  #isAtEnd({ jobsLeft, roundsLeft, keyedRowsLeft, hashesLeft }: Checkpoint): boolean {
    const left = jobsLeft + roundsLeft + keyedRowsLeft + hashesLeft
    return left === 0 && !this.#parts.pending.hasKeyHashes
  }

  #start(isAlong = false): Checkpoint {
    const { pending, log, pace, storedHashes } = this.#parts
    this.begin()
    if (this.#checkpoint === null) {
      const most = this.#isPressed ? pace.jobsTogether : pace.jobsInCalm
      const jobsLeft = Math.min(pending.jobCount, most)
      pending.others.dropOldRounds()
      const { roundCount: roundsLeft, keyedRowCount: keyedRowsLeft } = pending.others
      const hashesLeft = Math.min(storedHashes.overdue, MOVED_PER_JOB * jobsLeft)
      this.#checkpoint = {
        last: log.last,
        isAlong,
        jobsLeft,
        roundsLeft,
        keyedRowsLeft,
        hashesLeft,
      }
      log.turn()
      pending.checkpointBegins(log.last)
    }
    return this.#checkpoint
  }

  #commit({ last }: Pick<Checkpoint, 'last'>): void {
    const { statements, writer, pending, log } = this.#parts
    // Jobs wait in the order of their batches, so of those before the first that waits all is there.
    const waiting = pending.firstBatch ?? Number.POSITIVE_INFINITY
    const upTo = Math.min(waiting - 1, last)
    const { seq } = writer.journalEnd
    this.#append(pending.lastEntryOf(upTo, seq) - seq)
    writer.writeSmallTables(pending.others.takeSmallTables())
    statements.get('note-carried').run(upTo, log.last)
    log.syncAll()
    this.end()
    this.#checkpoint = null
    pending.checkpointEnds(upTo)
    log.release(upTo)
    this.#deleteSome(Math.min(this.#written, DELETED_AT_ONCE))
    this.#written = 0
  }

  #writeJobs(jobs: readonly PendingJob[]): void {
    if (jobs.length === 0) return
    this.begin()
    this.#written += jobs.length
    this.#parts.writer.writeJobs(jobs)
  }

  #append(records: number): void {
    const { writer, pending } = this.#parts
    if (records === 0) return
    this.begin()
    for (let left = records; left > 0; left -= RECORDS_AT_A_TIME) {
      writer.append(pending.takeRecords(Math.min(left, RECORDS_AT_A_TIME)))
    }
  }
}

/** Up to when some of what is from before a time go, if so many others come before the next of them. */
function portion(before: number | null, next: number | undefined): number | null {
  if (before === null || next === undefined) return before
  // Those of the same moment go together.
  return Math.min(before, next + 1)
}
