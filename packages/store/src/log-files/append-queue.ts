import type { LogRecord } from '@fairlead/core/internal'
import { isSameRecord, notNext, otherRecord } from '../append-rules.ts'
import { asUnavailable } from '../unavailable.ts'
import { BODY_BYTES_MAX, recordBytes } from './record.ts'

/** The log behind a queue of appends. */
export interface AppendTarget {
  readonly path: string
  /** The newest confirmed batch. */
  readonly end: () => number
  /** Its record; null if it was trimmed. */
  readonly newest: () => LogRecord | null
  /** If so many bytes can be written together. */
  readonly hasRoom: (bytes: number) => boolean
  /** Stores records that follow the newest. If it throws, nobody knows what is stored. */
  readonly write: (records: readonly LogRecord[]) => void
}

/** So much is written in one go and synced together. */
const GROUP_BYTES_MAX = 4 * 1_048_576

interface Waiting {
  readonly record: LogRecord
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * Groups the records that were given while others were being synced, and keeps the rules on their numbers. The caller
 * bounds how many wait.
 */
export class AppendQueue {
  readonly #target: AppendTarget
  #waiting: Waiting[] = []
  /** Records whose append failed, by number: each may be stored. */
  readonly #unknown = new Map<number, LogRecord>()

  constructor(target: AppendTarget) {
    this.#target = target
  }

  append(record: LogRecord): Promise<void> {
    return new Promise((resolve, reject) => {
      // The messages that are there already come before an immediate.
      if (this.#waiting.length === 0) setImmediate(() => this.flush())
      this.#waiting.push({ record, resolve, reject })
    })
  }

  flush(): void {
    const target = this.#target
    const all = this.#waiting
    this.#waiting = []
    let group: Waiting[] = []
    let groupBytes = 0
    const writeGroup = (): void => {
      if (group.length > 0) this.#write(group)
      group = []
      groupBytes = 0
    }
    for (const waiting of all) {
      const { record } = waiting
      const bytes = groupBytes + recordBytes(record)
      const isNext = record.batch === target.end() + group.length + 1
      if (!isNext || bytes > GROUP_BYTES_MAX || !target.hasRoom(bytes)) writeGroup()
      if (this.#isAnswered(waiting, target.end() + group.length + 1)) continue
      group.push(waiting)
      groupBytes += recordBytes(record)
    }
    writeGroup()
  }

  /** Answers a record that is not to be written: a repeated one, or one that is refused (LOG-3, LOG-4). */
  #isAnswered({ record, resolve, reject }: Waiting, next: number): boolean {
    try {
      if (!this.#isRepeated(record)) {
        this.#check(record, next)
        return false
      }
      resolve()
    } catch (error) {
      reject(asUnavailable(this.#target.path, error))
    }
    return true
  }

  #isRepeated(record: LogRecord): boolean {
    const { path, end, newest } = this.#target
    const stored = record.batch === end() ? newest() : null
    if (stored === null) return false
    if (!isSameRecord(stored, record)) throw otherRecord(path, record.batch)
    return true
  }

  #check(record: LogRecord, next: number): void {
    const { batch, body } = record
    const { path } = this.#target
    if (batch !== next) throw notNext(path, { given: batch, next })
    const unknown = this.#unknown.get(batch)
    if (unknown !== undefined && !isSameRecord(unknown, record)) throw otherRecord(path, batch)
    if (body.length > BODY_BYTES_MAX) throw new Error(`batch ${batch} has too many bytes`)
  }

  #write(group: readonly Waiting[]): void {
    try {
      this.#target.write(group.map(({ record }) => record))
    } catch (error) {
      for (const { record, reject } of group) {
        this.#unknown.set(record.batch, record)
        reject(error as Error)
      }
      return
    }
    for (const { record, resolve } of group) {
      this.#unknown.delete(record.batch)
      resolve()
    }
  }
}
