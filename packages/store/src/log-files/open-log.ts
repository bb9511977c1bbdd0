import { resolve } from 'node:path'
import type { Log, LogEnd, LogRecord } from '@fairlead/core/internal'
import { ThreadHost } from '../thread/thread-host.ts'
import type { Disk } from './disk.ts'
import { LogFiles, type LogStats } from './log-files.ts'
import type { LogThreadData } from './log-thread.ts'
import type { LogFilesOptions, LogReport } from './open-segments.ts'

export type { LogStats } from './log-files.ts'
export type { LogFilesOptions, LogReport } from './open-segments.ts'

/** A log in files. */
export interface FileLog extends Log {
  stats(): Promise<LogStats>
}

export interface OpenedLog {
  readonly log: FileLog
  readonly report: LogReport
}

/** Records are read this many bytes at a time. */
const PAGE_BYTES = 1_048_576

/**
 * Opens the log of the store at a path, or makes one: `<path>-log-1` and so on. The caller holds the lock of the store.
 * A given `disk` makes it run on this thread, for tests.
 */
export async function openLogFiles(
  path: string,
  options: LogFilesOptions,
  disk?: Disk,
): Promise<OpenedLog> {
  const data: LogThreadData = { path: resolve(path), options }
  const open = () => LogFiles.open(data.path, options, disk)
  const host: ThreadHost<LogFiles> =
    disk === undefined
      ? await ThreadHost.onThread('log-files/log-thread.js', { path, data })
      : await ThreadHost.inline(open, { path })
  const report = await host.call('report', [])
  return { log: new HostedLog(host, report.end), report }
}

class HostedLog implements FileLog {
  readonly #host: ThreadHost<LogFiles>
  #end: LogEnd

  constructor(host: ThreadHost<LogFiles>, end: LogEnd) {
    this.#host = host
    this.#end = end
  }

  get end(): LogEnd {
    return this.#end
  }

  async append({ batch, digest, body }: LogRecord): Promise<void> {
    // The caller keeps its bytes, to give them again; and a view of a large buffer is not sent with all of that.
    const copy = new Uint8Array(body)
    await this.#host.call('append', [{ batch, digest, body: copy }], [copy.buffer])
    if (batch > this.#end.batch) this.#end = { batch, digest }
  }

  async *read(afterBatch: number): AsyncGenerator<LogRecord, void> {
    for (let after = afterBatch; ; ) {
      const page = await this.#host.call('readPage', [after, PAGE_BYTES])
      yield* page
      const last = page.at(-1)
      if (last === undefined) return
      after = last.batch
    }
  }

  async trim(upToBatch: number): Promise<void> {
    await this.#host.call('trim', [upToBatch])
    const { batch } = this.#end
    if (upToBatch >= batch) this.#end = { batch, digest: null }
  }

  scrub(): Promise<void> {
    return this.#host.call('scrub', [])
  }

  stats(): Promise<LogStats> {
    return this.#host.call('stats', [])
  }

  close(): Promise<void> {
    return this.#host.close()
  }
}
