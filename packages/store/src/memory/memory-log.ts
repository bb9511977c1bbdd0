import type { Log, LogEnd, LogRecord } from '@fairlead/core/internal'
import { isSameRecord, notNext, otherRecord, trimmedAway } from '../append-rules.ts'

/** How an append fails: before the record is stored, or after, so that only its answer is lost. */
export type AppendFault = 'before' | 'after'

export interface MemoryLogOptions {
  /** The batch behind which a new log begins. */
  readonly after?: number
  /** Called for each record that is about to be stored. The error and its moment; null for none. */
  readonly fault?: (
    record: LogRecord,
  ) => { readonly when: AppendFault; readonly error: Error } | null
}

interface Content {
  readonly records: LogRecord[]
  /** The newest batch that was trimmed, or that the log begins behind. */
  trimmed: number
}

/**
 * A log in memory: what the port means, without a file. Its records last as long as the object; `reopen` continues with
 * them, as a restart does.
 */
export class MemoryLog implements Log {
  readonly #options: MemoryLogOptions
  #content: Content
  /** The newest confirmed batch. One more may be stored. */
  #end: number
  readonly #unknown = new Map<number, LogRecord>()

  constructor(options: MemoryLogOptions = {}) {
    this.#options = options
    this.#content = { records: [], trimmed: options.after ?? 0 }
    this.#end = this.#content.trimmed
  }

  reopen(): MemoryLog {
    const log = new MemoryLog(this.#options)
    log.#content = this.#content
    log.#end = this.#content.trimmed + this.#content.records.length
    return log
  }

  get end(): LogEnd {
    return { batch: this.#end, digest: this.#recordOf(this.#end)?.digest ?? null }
  }

  async append(record: LogRecord): Promise<void> {
    const { batch } = record
    const newest = this.#recordOf(batch)
    if (batch === this.#end && newest !== undefined) {
      if (!isSameRecord(newest, record)) throw otherRecord('memory', batch)
      return
    }
    if (batch !== this.#end + 1) throw notNext('memory', { given: batch, next: this.#end + 1 })
    const unknown = this.#unknown.get(batch)
    if (unknown !== undefined && !isSameRecord(unknown, record)) throw otherRecord('memory', batch)
    const copy = { ...record, body: new Uint8Array(record.body) }
    const fault = this.#options.fault?.(copy) ?? null
    if (fault?.when !== 'before' && newest === undefined) this.#content.records.push(copy)
    if (fault !== null) {
      this.#unknown.set(batch, copy)
      throw fault.error
    }
    this.#unknown.delete(batch)
    this.#end = batch
  }

  async *read(afterBatch: number): AsyncGenerator<LogRecord, void> {
    for (let batch = afterBatch + 1; batch <= this.#end; batch++) {
      const record = this.#recordOf(batch)
      const first = this.#content.trimmed + 1
      if (record === undefined) throw trimmedAway('memory', { after: batch - 1, first })
      yield record
    }
  }

  async trim(upToBatch: number): Promise<void> {
    if (upToBatch > this.#end) {
      throw notNext('memory', { given: upToBatch, next: this.#end + 1 })
    }
    const trimmed = Math.max(upToBatch, this.#content.trimmed)
    this.#content.records.splice(0, trimmed - this.#content.trimmed)
    this.#content.trimmed = trimmed
  }

  async scrub(): Promise<void> {}

  /** As those of a log in files, of which it has none. */
  async stats(): Promise<{ bytes: number; segments: number; oldest: number; newest: number }> {
    const { records, trimmed } = this.#content
    const bytes = records.reduce((sum, { body }) => sum + body.length, 0)
    return { bytes, segments: 0, oldest: trimmed + 1, newest: this.#end }
  }

  async close(): Promise<void> {}

  #recordOf(batch: number): LogRecord | undefined {
    return this.#content.records[batch - this.#content.trimmed - 1]
  }
}
