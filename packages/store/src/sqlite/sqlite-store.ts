import { resolve } from 'node:path'
import { FairleadError, type Store } from '@fairlead/core'
import type { StoreReads, WriteBatch } from '@fairlead/core/internal'
import { isEmptyFile } from '../file-mode.ts'
import { OS_DISK } from '../log-files/disk.ts'
import { type FileLog, openLogFiles } from '../log-files/open-log.ts'
import { MemoryLog } from '../memory/memory-log.ts'
import { ThreadHost } from '../thread/thread-host.ts'
import type { BackupFile } from './backup/backup-file.ts'
import { bringForward, type Progress } from './migrations/bring-forward.ts'
import { OwnerLock } from './owner-lock.ts'
import { refuseForeign } from './refuse-foreign.ts'
import {
  hasLog,
  realPath,
  refuseFolder,
  refuseGap,
  removeLog,
  tablesMissing,
} from './store-files.ts'
import type { Overview, Sealed } from './tables/load-tables.ts'
import { IN_MEMORY, openTablesFile, openTablesInMemory } from './tables/open-tables.ts'
import { SqliteTables } from './tables/sqlite-tables.ts'
import type { Pace, TablesFile, TimeMove } from './tables/tables-file.ts'
import type { TablesThreadData } from './tables/tables-thread.ts'

export type { FileLog, LogStats } from '../log-files/open-log.ts'
export {
  type LogFinding,
  type LogItem,
  type LogItemRecord,
  readLogFiles,
} from '../log-files/read-log-files.ts'
export {
  type BackupFacts,
  checkBackup,
  type Restored,
  type Restoring,
  restoreStore,
} from './backup/restore-store.ts'
export { SCHEMA_VERSION } from './migrate.ts'
export type { Progress } from './migrations/bring-forward.ts'
export type { Overview, Sealed } from './tables/load-tables.ts'
export type { Pace, TimeMove } from './tables/tables-file.ts'

export interface SqliteOptions {
  /**
   * `full` (default): what the log confirmed survives a power cut. `relaxed`: it survives the end of the process, but the
   * newest records may be lost when the machine stops.
   */
  readonly durability?: 'full' | 'relaxed'
  /** Called while the jobs of a store of an older version are copied. */
  readonly progress?: Progress
}

/** What was found when a store was opened. */
export interface OpenReport {
  /** True if the store was not there before. */
  readonly isNew: boolean
  /** True if the store was closed in order the last time, or is new. */
  readonly wasClean: boolean
  /** The last batch that the tables reflect. */
  readonly tablesBatch: number
  /** The last batch of the log. Those after `tablesBatch` have to be replayed. */
  readonly logBatch: number
  /** Bytes of records that a crash tore, and that were never confirmed. */
  readonly tornBytes: number
}

/** A store in a file, with its log beside it. */
export interface SqliteStore extends Store {
  readonly log: FileLog
  readonly tables: SqliteTables
  readonly report: OpenReport
  /** The file of the tables; null in memory. */
  readonly path: string | null
  overview(): Promise<Overview>
  /** How much of it is encrypted with which key (FILES-3). It reads all payloads and results. */
  sealed(): Promise<Sealed[]>
  /** Reads every value of the tables, and tells the first that are damaged (STORE-21). */
  problems(): Promise<string[]>
  /** Times of jobs, leases and results after one become earlier, in a transaction with a batch of rows (CLOCK-1). */
  moveTimes(move: TimeMove, rows: WriteBatch): Promise<void>
  /**
   * Writes everything that was applied into a new file, which is a complete store by itself. Batches are applied meanwhile.
   * Resolves with the last batch of the copy.
   */
  backup(to: string): Promise<number>
}

/** For tests: without threads, and with other bounds. */
export interface SqliteInternals {
  readonly isInline?: boolean
  readonly pace?: Partial<Pace>
  readonly segmentBytes?: number
}

/**
 * Opens a store, and makes one where no file is. Only one process at a time can (STORE-3). The path `:memory:` makes a new
 * store without files and threads, which is gone when it is closed (STORE-19).
 */
export async function openSqliteStore(
  path: string,
  options: SqliteOptions = {},
  internals: SqliteInternals = {},
): Promise<SqliteStore> {
  if (path === IN_MEMORY) return openInMemory(internals)
  const file = realPath(path)
  refuseFolder(file)
  refuseForeign(file)
  const lock = OwnerLock.take(file)
  try {
    return await openLocked(file, lock, options, internals)
  } catch (error) {
    lock.release()
    throw error
  }
}

async function openLocked(
  path: string,
  lock: OwnerLock,
  { durability = 'full', progress = () => {} }: SqliteOptions,
  { isInline = false, pace = {}, ...rest }: SqliteInternals,
): Promise<SqliteStore> {
  const isNew = isEmptyFile(path)
  if (isNew && hasLog(path)) throw tablesMissing(path)
  const oldTornBytes = bringForward(path, progress)
  const data: TablesThreadData = { path, options: { pace } }
  const host: ThreadHost<TablesFile> = isInline
    ? await ThreadHost.inline(() => openTablesFile(path, data.options), { path })
    : await ThreadHost.onThread('sqlite/tables/tables-thread.js', { path, data })
  try {
    const { id, batch, wasClean } = await host.call('opened', [])
    const disk = isInline ? OS_DISK : undefined
    const open = (createAfter: number | null) =>
      openLogFiles(path, { storeId: id, createAfter, durability, ...rest }, disk)
    let opened = await open(wasClean ? batch : null)
    if (durability === 'relaxed' && opened.report.end.batch < batch) {
      // A power cut took records that nobody had synced. The tables have them, so the log begins anew behind them.
      await opened.log.close()
      await host.call('setClean', [true])
      removeLog(path)
      opened = await open(batch)
    }
    const { log, report } = opened
    try {
      refuseGap(path, batch, report)
      // From here on the tables alone are not complete.
      await host.call('setClean', [false])
    } catch (error) {
      await log.close()
      throw error
    }
    const tables = new SqliteTables(path, host)
    const logBatch = log.end.batch
    const tornBytes = report.tornBytes + oldTornBytes
    const found = { isNew, wasClean, tablesBatch: batch, logBatch, tornBytes }
    return new LockedStore(path, { lock, log, tables, report: found })
  } catch (error) {
    await host.close().catch(() => {})
    throw error
  }
}

async function openInMemory({ pace = {} }: SqliteInternals): Promise<SqliteStore> {
  const host = await ThreadHost.inline(() => openTablesInMemory({ pace }), { path: IN_MEMORY })
  const tables = new SqliteTables(IN_MEMORY, host)
  const lock = { release: () => {} }
  const report = { isNew: true, wasClean: true, tablesBatch: 0, logBatch: 0, tornBytes: 0 }
  return new LockedStore(IN_MEMORY, { lock, log: new MemoryLog(), tables, report })
}

class LockedStore implements SqliteStore {
  readonly log: FileLog
  readonly tables: SqliteTables
  readonly read: StoreReads
  readonly report: OpenReport
  readonly path: string | null
  readonly #path: string
  readonly #lock: Pick<OwnerLock, 'release'>
  #closed: Promise<void> | null = null

  constructor(
    path: string,
    {
      lock,
      log,
      tables,
      report,
    }: {
      readonly lock: Pick<OwnerLock, 'release'>
      readonly log: FileLog
      readonly tables: SqliteTables
      readonly report: OpenReport
    },
  ) {
    this.#path = path
    this.path = path === IN_MEMORY ? null : path
    this.#lock = lock
    this.log = log
    this.tables = tables
    this.read = tables.read
    this.report = report
  }

  overview(): Promise<Overview> {
    return this.tables.overview()
  }

  sealed(): Promise<Sealed[]> {
    return this.tables.sealed()
  }

  problems(): Promise<string[]> {
    return this.tables.problems()
  }

  moveTimes(move: TimeMove, rows: WriteBatch): Promise<void> {
    return this.tables.moveTimes(move, rows)
  }

  async backup(to: string): Promise<number> {
    if (this.#path === IN_MEMORY) {
      throw new FairleadError('InvalidState', 'a store in memory has no backup; open one on a file')
    }
    await this.tables.commit()
    const file = resolve(to)
    const data = { path: this.#path }
    const host = await ThreadHost.onThread<BackupFile>('sqlite/backup/backup-thread.js', {
      path: file,
      data,
    })
    try {
      return await host.call('copyTo', [file])
    } finally {
      await host.close()
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#closeAll()
    return this.#closed
  }

  /** Ends as a killed process does, for tests. */
  abandon(): Promise<void> {
    this.#closed ??= this.#abandonAll()
    return this.#closed
  }

  async #abandonAll(): Promise<void> {
    await this.log.close()
    await this.tables.close()
    this.#lock.release()
  }

  async #closeAll(): Promise<void> {
    try {
      const { batch } = this.log.end
      await this.log.close()
      await this.tables.closeAt(batch)
    } finally {
      this.#lock.release()
    }
  }
}
