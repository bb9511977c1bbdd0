import { FairleadError, type Store } from '@fairlead/core'
import type { Log, LogEnd, LogRecord, StoreReads } from '@fairlead/core/internal'
import { MemoryLog, MemoryTables } from '@fairlead/store/memory'

/** What becomes of an append: it is stored and answered, refused, or stored with its answer lost. */
export type CommitFate = 'ok' | 'fails' | 'answer lost'

/** The store in memory. It keeps the promises of the port, until it is told to break them. A restart uses it again. */
export class MemoryStore implements Store {
  /** Asked before each append. */
  fate: () => CommitFate = () => 'ok'
  readonly log: ReopeningLog
  readonly tables = new MemoryTables()
  readonly read: StoreReads = this.tables.read

  constructor() {
    this.log = new ReopeningLog(() => this.fate())
  }

  /** How many batches were stored, those whose answer was lost included. */
  get commits(): number {
    return this.log.stored
  }

  async close(): Promise<void> {}
}

/** A log that is opened anew before it is read, as by a process that starts: whatever was stored is then known. */
class ReopeningLog implements Log {
  #log: MemoryLog
  /** The newest batch that was stored, whether or not anybody knows. */
  stored = 0

  constructor(fate: () => CommitFate) {
    this.#log = new MemoryLog({
      fault: ({ batch }) => {
        const drawn = fate()
        if (drawn !== 'fails') this.stored = Math.max(this.stored, batch)
        if (drawn === 'ok') return null
        const isLost = drawn === 'answer lost'
        const error = unavailable(isLost ? 'the answer was lost' : 'the disk is full')
        return { when: isLost ? 'after' : 'before', error }
      },
    })
  }

  get end(): LogEnd {
    return this.#log.end
  }

  append(record: LogRecord): Promise<void> {
    return this.#log.append(record)
  }

  read(afterBatch: number): AsyncIterable<LogRecord> {
    this.#log = this.#log.reopen()
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

function unavailable(why: string): FairleadError {
  return new FairleadError('StoreUnavailable', why)
}
