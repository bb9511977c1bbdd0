/** Commands that are stored together. */
export interface LogRecord {
  /** One more than the number of the record before it. */
  readonly batch: number
  /** Covers every decision until the end of this record (COMMAND-5). */
  readonly digest: number
  /** The commands, encoded. */
  readonly body: Uint8Array
}

/** The end of a log. */
export interface LogEnd {
  /** The number of the newest batch, stored or already trimmed; 0 before the first. */
  readonly batch: number
  /** The digest of the newest batch; null if the log does not have it any more. */
  readonly digest: number | null
}

/** The durable order of all commands of one partition. One leader appends. */
export interface Log {
  /** The newest batch when the log was opened, or after the last append. */
  readonly end: LogEnd
  /**
   * Resolves when the record survives a power cut. Records are appended in the order of the calls. If one is
   * rejected, nobody knows its outcome, and later calls are rejected too until it is given again: the same number
   * with the same bytes is stored once. Any other number is refused.
   */
  append(record: LogRecord): Promise<void>
  /** The records after a batch, oldest first. Throws with the place of the first damaged or missing one. */
  read(afterBatch: number): AsyncIterable<LogRecord>
  /** Deletes records up to a batch. The tables must have them durably. */
  trim(upToBatch: number): Promise<void>
  /** Overwrites what was trimmed, so that no deleted personal data stays on the disk (AUDIT-10). */
  scrub(): Promise<void>
  close(): Promise<void>
}
