import { FairleadError } from '@fairlead/core'
import type { LogRecord, WriteBatch } from '@fairlead/core/internal'

/**
 * What becomes of an append. `lost` is stored and refused; `late` hangs until a later step decides. At `cut before` and
 * `cut after` the process is killed before or after the record is stored, and nobody hears of it.
 */
export type AppendFate = 'ok' | 'fails' | 'lost' | 'late' | 'cut before' | 'cut after'
/** The same for rows on their way to the tables. */
export type ApplyFate = 'ok' | 'fails' | 'late' | 'cut before' | 'cut after'
export type ReadFate = 'ok' | 'fails' | 'late'

/** Decides over the store's calls, and is told what came of them. */
export interface StoreFates {
  now(): number
  append(): AppendFate
  apply(): ApplyFate
  load(): Exclude<ReadFate, 'late'>
  read(): ReadFate
  /** Before which of so many records the reading of the log breaks off; null if it does not. */
  readLog(count: number): number | null
  /** How many of so many applied batches reach the disk now. */
  flushed(count: number): number
  /** The record is in the log now, whether or not the engine will hear of it. */
  written(record: LogRecord): void
  /** The rows that a new store begins with. */
  installed(rows: WriteBatch): void
  /**
   * The engine is told that a record may not be stored, or that one is which it gave at `since`. It has made records up
   * to `newest`.
   */
  refused(newest: number): void
  stored(since: number, newest: number): void
  /** The process is killed right now. */
  cut(): void
  /** Looks at something without letting what it throws get to the engine. */
  watch(look: () => void): void
}

/** What a connection counts. */
export interface StoreNotes {
  /** Calls that failed, as far as the engine can tell. */
  faults: number
  /** Grows with every call. */
  activity: number
}

export function unavailable(why: string): FairleadError {
  return new FairleadError('StoreUnavailable', why)
}

/** The answer of a process that is gone. */
export function never(): Promise<never> {
  return new Promise(() => {})
}
