import { resolve } from 'node:path'
import type { Snapshot, Store, StoreReads, WriteBatch } from '@fairlead/core'
import { BatchWriter } from './batch-writer.ts'
import { type Columns, closeDatabase, type Database, openDatabase, sqliteCode } from './driver.ts'
import { readHolder, removeHolder, writeHolder } from './holder.ts'
import { migrate, refuseForeign } from './migrate.ts'
import { headRow, jobRow, leaseRow, metaRow, providerRow, shareRow } from './rows.ts'
import { SqliteReads } from './sqlite-reads.ts'
import { Statements } from './statements.ts'
import { asUnavailable, unavailable } from './unavailable.ts'

export interface SqliteOptions {
  /**
   * `full` (default): what was committed survives a power cut. `relaxed`: it survives the end of the
   * process, but the last commits may be lost when the machine stops; the file stays whole.
   */
  readonly durability?: 'full' | 'relaxed'
}

const BUSY = 5

/** Holds the pages of the three random indexes for a few million jobs. */
const CACHE_KIB = 65_536
/**
 * The log is carried over into the file when it has this many pages (64 MiB). The longer it may grow,
 * the more often a page has been written again by then, and is carried over once.
 */
const LOG_PAGES = 16_384

/** Opens a store, and makes one where no file is. Only one process at a time can (STORE-3). */
export async function openSqliteStore(path: string, options: SqliteOptions = {}): Promise<Store> {
  // An absolute path is never taken for a URI.
  const file = resolve(path)
  let db: Database | null = null
  try {
    db = openDatabase(file)
    // First of all: the lock is taken with the first access and held until the end. With it the index
    // of the log is in our own memory, and no other process can so much as read the file.
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    refuseForeign(db, file)
    configure(db, options)
    migrate(db)
    writeHolder(file)
    return new SqliteStore(file, db)
  } catch (error) {
    db?.close()
    const isBusy = ((sqliteCode(error) ?? 0) & 0xff) === BUSY
    throw isBusy ? heldByAnother(file, error) : asUnavailable(file, error)
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

class SqliteStore implements Store {
  readonly read: StoreReads
  readonly #path: string
  readonly #db: Database
  readonly #statements: Statements
  readonly #writer: BatchWriter
  #isOpen = true

  constructor(path: string, db: Database) {
    this.#path = path
    this.#db = db
    this.#statements = new Statements(db)
    this.#writer = new BatchWriter(this.#statements)
    this.read = new SqliteReads((read) => this.#guard(() => read(this.#statements)))
  }

  async load(): Promise<Snapshot> {
    return this.#guard(() => {
      const meta = this.#all('all-meta', metaRow)
      return {
        jobs: this.#all('load-jobs', jobRow),
        leases: this.#all('load-leases', leaseRow),
        providers: this.#all('all-providers', providerRow),
        shares: this.#all('all-shares', shareRow),
        meta: Object.fromEntries(meta.map(({ name, value }) => [name, value])),
        journalHead: headRow(this.#statements.get('find-journal-head').get()),
      }
    })
  }

  /** Synchronous inside: group commit is what makes it fast, not another thread. */
  async commit(batch: WriteBatch): Promise<void> {
    let didFail = true
    try {
      this.#guard(() => {
        this.#db.exec('BEGIN IMMEDIATE')
        this.#writer.write(batch)
        this.#db.exec('COMMIT')
      })
      didFail = false
    } finally {
      // Some errors have ended the transaction already.
      if (didFail && this.#isOpen && this.#db.isTransaction) this.#db.exec('ROLLBACK')
      this.#writer.settle({ didFail })
    }
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    // While the lock is still held: afterwards the name could be that of the next holder.
    removeHolder(this.#path)
    closeDatabase(this.#db)
  }

  /** Row by row: a million jobs are in memory once, not twice. */
  #all<Row>(name: string, row: (columns: Columns) => Row): Row[] {
    const rows: Row[] = []
    for (const columns of this.#statements.get(name).iterate()) rows.push(row(columns))
    return rows
  }

  #guard<Answer>(act: () => Answer): Answer {
    if (!this.#isOpen) throw unavailable(this.#path, 'closed', 'it is closed; open it again')
    try {
      return act()
    } catch (error) {
      throw asUnavailable(this.#path, error)
    }
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
