import type { LogEnd, LogRecord } from '@fairlead/core/internal'
import { broken } from '../violation.ts'

/** The records of the log: they survive any crash. */
export class LogFile {
  #records: LogRecord[] = []
  /** The number of the newest record, trimmed or not. */
  batch = 0
  /** Records up to this one were deleted, and those up to the other were also overwritten. */
  trimmed = 0
  scrubbed = 0

  get end(): LogEnd {
    return { batch: this.batch, digest: this.#records.at(-1)?.digest ?? null }
  }

  /** True for a record that is there. Another one under its number ends the run. */
  has(record: LogRecord): boolean {
    if (record.batch > this.batch) return false
    const known = this.#records.find(({ batch }) => batch === record.batch)
    if (known === undefined) broken('log', `batch ${record.batch} is given again, and was trimmed`)
    if (known.digest !== record.digest || Buffer.compare(known.body, record.body) !== 0)
      broken('log', `batch ${record.batch} is given again, and is another`)
    return true
  }

  add(record: LogRecord): void {
    if (record.batch !== this.batch + 1)
      broken('log', `batch ${record.batch} is appended after ${this.batch}`)
    this.batch = record.batch
    this.#records.push(record)
  }

  after(batch: number): readonly LogRecord[] {
    if (batch < this.trimmed)
      broken('log', `it is read after ${batch}, and was trimmed up to ${this.trimmed}`)
    if (batch > this.batch) broken('log', `it is read after ${batch}, and ends with ${this.batch}`)
    return this.#records.filter((record) => record.batch > batch)
  }

  trim(upToBatch: number): void {
    this.trimmed = Math.max(this.trimmed, upToBatch)
    this.#records = this.#records.filter((record) => record.batch > upToBatch)
  }

  /** Overwrites what was trimmed. */
  scrub(): void {
    this.scrubbed = this.trimmed
  }
}
