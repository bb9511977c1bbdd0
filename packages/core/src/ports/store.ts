import type { Log } from './log.ts'
import type { StoreReads, Tables } from './tables.ts'

/** The log, which is the truth, and the tables, which follow it. They share an id and are opened together. */
export interface Store {
  readonly log: Log
  readonly tables: Tables
  /** The reads of the tables. */
  readonly read: StoreReads
  close(): Promise<void>
}
