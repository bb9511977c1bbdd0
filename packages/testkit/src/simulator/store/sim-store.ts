import type { Store } from '@fairlead/core'
import type { StoreReads } from '@fairlead/core/internal'
import { LogFile } from './log-file.ts'
import { SimLog } from './sim-log.ts'
import { SimReads } from './sim-reads.ts'
import { SimTables } from './sim-tables.ts'
import type { StoreFates, StoreNotes } from './store-fates.ts'
import { TableFile } from './table-file.ts'

/** What is left when an engine is gone: its log, and the tables behind it. */
export class StoreFiles {
  readonly log = new LogFile()
  readonly tables = new TableFile()
}

/** An engine asks again for what it could not read within this time. */
const ASKED_AGAIN_MS = 500

/** One engine's connection to the files, with all that can go wrong there. */
export class SimStore implements Store {
  readonly files: StoreFiles
  readonly log: SimLog
  readonly tables: SimTables
  readonly reads: SimReads
  readonly read: StoreReads
  /** The newest record when the engine last showed a defect. */
  #shakenAt: number | null = null
  readonly #notes: StoreNotes = { faults: 0, activity: 0 }

  constructor(files: StoreFiles, fates: StoreFates) {
    this.files = files
    const notes = this.#notes
    this.reads = new SimReads(() => files.tables.seen, fates, notes)
    this.read = this.reads.reads
    const durable = () => files.tables.durable
    this.log = new SimLog(files.log, { fates, notes, durable })
    const logEnd = () => files.log.batch
    this.tables = new SimTables(files.tables, { read: this.read, fates, notes, logEnd })
  }

  get faults(): number {
    return this.#notes.faults
  }

  get activity(): number {
    return this.#notes.activity
  }

  /** A call hangs. */
  get isBusy(): boolean {
    return this.log.isBusy || this.tables.isBusy || this.reads.isBusy
  }

  /** A call of the tables hangs or has failed: enqueues and reads may have to wait for it. */
  get isBehind(): boolean {
    return this.tables.isBusy || this.tables.isFailing
  }

  /** The engine had a defect, and nothing was heard of it since. */
  get isShaken(): boolean {
    return this.#shakenAt !== null && this.log.confirmed <= this.#shakenAt
  }

  /** Something is known not to be stored, and is not given again yet. */
  get isTroubled(): boolean {
    return this.log.isStuck || this.tables.isFailing || this.isShaken
  }

  /** The engine shows a defect: calls may fail without a fault of the store. */
  noteDefect(): void {
    this.#notes.faults++
    this.#shakenAt = this.log.newest
  }

  /** The payload of a job was asked for in vain a moment ago, or tables that take nothing keep it back. */
  isOwed(seq: number, nowMs: number): boolean {
    const since = this.reads.owedSince(seq)
    if (since === null) return false
    return this.isBehind || nowMs - Math.max(since, this.tables.troubledAt) <= ASKED_AGAIN_MS
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  /**
   * The process is gone. Of the appends that hung, the first so many made it to the log. If it was a power cut, only
   * so many batches of rows that were at risk are kept.
   */
  kill({ written, kept }: { readonly written: number; readonly kept: number }): void {
    this.log.kill(written)
    this.tables.kill()
    this.reads.kill()
    this.files.tables.lose(kept)
  }
}
