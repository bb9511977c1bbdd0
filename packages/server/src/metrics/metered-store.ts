import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Store } from '@fairlead/core'
import type { Log, LogEnd, LogRecord } from '@fairlead/core/internal'

/** The state of the writes of a store. */
export interface StoreHealth {
  /** When appends began to be refused; null while they are taken. */
  readonly failingSince: number | null
  /** When the append that has been under way the longest began; null while none is. */
  readonly pendingSince: number | null
}

/** The size of a log, for those who watch it. */
export interface LogFigures {
  readonly bytes: number
  /** The numbers of the batches that it has; none if `oldest` is above `newest`. */
  readonly oldest: number
  readonly newest: number
}

/** A store that is metered. One in a file tells more of its log, and makes backups. */
export interface MeterableStore extends Store {
  readonly log: Log & { readonly stats?: () => Promise<LogFigures> }
  /** Resolves with the last batch of the copy. */
  readonly backup?: (to: string) => Promise<number>
  /** The file of the tables; null in memory. */
  readonly path?: string | null
}

/** Sizes in bytes of the file of the tables and its write-ahead log, and what is free beside them. */
export interface TableFiles {
  readonly tables: number
  readonly wal: number
  readonly free: number
}

/** Is told of every append. */
export type AppendListener = (append: {
  readonly bytes: number
  readonly ms: number
  readonly isTaken: boolean
  /** Why it was not. */
  readonly cause?: unknown
  /** True if with it appends began to be refused, or are taken again. */
  readonly isTurn: boolean
}) => void

/**
 * A store that says how its writes go. Open the engine on it and give it to the server as well: then the metrics have
 * the size and time of appends, and `/readyz` fails when they are refused.
 */
export class MeteredStore implements Store {
  readonly log: Log
  readonly tables: Store['tables']
  readonly read: Store['read']
  readonly #store: MeterableStore
  readonly #log: MeteredLog

  constructor(store: MeterableStore) {
    this.#store = store
    this.#log = new MeteredLog(store.log)
    this.log = this.#log
    this.tables = store.tables
    this.read = store.read
  }

  get health(): StoreHealth {
    return this.#log.health
  }

  onAppend(listener: AppendListener): void {
    this.#log.listener = listener
  }

  /** Null if the log does not tell. */
  async logFigures(): Promise<LogFigures | null> {
    return (await this.#store.log.stats?.()) ?? null
  }

  /** Null if the tables are in no file. */
  tableFiles(): TableFiles | null {
    const { path = null } = this.#store
    if (path === null) return null
    const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
    const { bavail, bsize } = statfsSync(dirname(path))
    return { tables: sizeOf(path), wal: sizeOf(`${path}-wal`), free: bavail * bsize }
  }

  /** Null if the store makes no backups. */
  get backup(): ((to: string) => Promise<number>) | null {
    const { backup } = this.#store
    return backup === undefined ? null : (to) => backup.call(this.#store, to)
  }

  close(): Promise<void> {
    return this.#store.close()
  }
}

class MeteredLog implements Log {
  listener: AppendListener = () => {}
  readonly #log: Log
  #failingSince: number | null = null
  readonly #pending = new Set<{ readonly at: number }>()

  constructor(log: Log) {
    this.#log = log
  }

  get health(): StoreHealth {
    const [oldest] = this.#pending
    return { failingSince: this.#failingSince, pendingSince: oldest?.at ?? null }
  }

  get end(): LogEnd {
    return this.#log.end
  }

  async append(record: LogRecord): Promise<void> {
    const bytes = record.body.length
    const pending = { at: performance.now() }
    this.#pending.add(pending)
    const took = () => performance.now() - pending.at
    try {
      await this.#log.append(record)
    } catch (cause) {
      this.#pending.delete(pending)
      const isTurn = this.#failingSince === null
      this.#failingSince ??= pending.at
      this.listener({ bytes, ms: took(), isTaken: false, cause, isTurn })
      throw cause
    }
    this.#pending.delete(pending)
    const isTurn = this.#failingSince !== null
    this.#failingSince = null
    this.listener({ bytes, ms: took(), isTaken: true, isTurn })
  }

  read(afterBatch: number): AsyncIterable<LogRecord> {
    return this.#log.read(afterBatch)
  }

  trim(upToBatch: number): Promise<void> {
    return this.#log.trim(upToBatch)
  }

  scrub(): Promise<void> {
    return this.#log.scrub()
  }

  close(): Promise<void> {
    return this.#log.close()
  }
}
