import type { LogEnd, LogRecord } from '@fairlead/core/internal'
import type { Logger } from '@fairlead/server'
import type { FileLog, LogStats } from '@fairlead/store/sqlite'
import type { LogArchive } from './log-archive.ts'

/** Records that cannot be archived keep the log from being trimmed for so long. */
const GIVE_UP_MS = 600_000
/** So many bytes of records are archived at once: calls wait while they are put into lines. */
const CHUNK_BYTES = 262_144

interface Options {
  readonly archive: Pick<LogArchive, 'write' | 'close'>
  readonly logger: Logger
  /** A clock that never goes back. */
  readonly now?: () => number
}

/**
 * A log whose records are archived before they are trimmed (ARCHIVE-1). While the archive fails, nothing is trimmed; the caller
 * tries again with its next trim. After ten minutes records are trimmed without being archived, so that neither the disk fills
 * nor erased data stays.
 */
export class ArchivedLog implements FileLog {
  readonly #log: FileLog
  readonly #options: Options
  /** The newest batch that was archived or given up; null before the first trim. */
  #archived: number | null = null
  #failingSince: number | null = null
  #trimming: Promise<unknown> = Promise.resolve()

  constructor(log: FileLog, options: Options) {
    this.#log = log
    this.#options = options
  }

  get end(): LogEnd {
    return this.#log.end
  }

  append(record: LogRecord): Promise<void> {
    return this.#log.append(record)
  }

  read(afterBatch: number): AsyncIterable<LogRecord> {
    return this.#log.read(afterBatch)
  }

  trim(upToBatch: number): Promise<void> {
    const trimmed = this.#trimming.then(() => this.#trim(upToBatch))
    this.#trimming = trimmed.catch(() => undefined)
    return trimmed
  }

  scrub(): Promise<void> {
    return this.#log.scrub()
  }

  stats(): Promise<LogStats> {
    return this.#log.stats()
  }

  async close(): Promise<void> {
    await this.finish()
    await this.#log.close()
  }

  /** Resolves when no trim is under way and the file of the archive is closed. */
  async finish(): Promise<void> {
    await this.#trimming
    await this.#options.archive.close()
  }

  async #trim(upTo: number): Promise<void> {
    const { logger, now = () => performance.now() } = this.#options
    const from = this.#archived ?? (await this.#log.stats()).oldest - 1
    this.#archived = from
    try {
      await this.#archiveUpTo(upTo)
      if (this.#failingSince !== null) logger.warn({}, 'the log is archived again')
      this.#failingSince = null
    } catch (err) {
      if (this.#failingSince === null) logger.error({ err }, 'the log cannot be archived')
      this.#failingSince ??= now()
      if (now() - this.#failingSince < GIVE_UP_MS) throw err
      const lost = { from: this.#archived + 1, to: upTo }
      logger.error({ err, ...lost }, 'batches are trimmed without being archived')
      this.#archived = upTo
      // The next records get as much time.
      this.#failingSince = now()
    }
    await this.#log.trim(upTo)
  }

  async #archiveUpTo(upTo: number): Promise<void> {
    let chunk: LogRecord[] = []
    let bytes = 0
    const write = async (): Promise<void> => {
      await this.#options.archive.write(chunk)
      this.#archived = chunk.at(-1)?.batch ?? this.#archived
      chunk = []
      bytes = 0
    }
    if ((this.#archived ?? 0) >= upTo) return
    for await (const record of this.#log.read(this.#archived ?? 0)) {
      if (record.batch > upTo) break
      chunk.push(record)
      bytes += record.body.length
      if (bytes >= CHUNK_BYTES) await write()
    }
    await write()
  }
}
