import type { LogRecord } from '@fairlead/core/internal'
import { notNext, trimmedAway } from '../append-rules.ts'
import { Moved } from '../thread/thread-messages.ts'
import { asUnavailable } from '../unavailable.ts'
import { AppendQueue } from './append-queue.ts'
import { damaged } from './damage.ts'
import { type Disk, OS_DISK } from './disk.ts'
import { type LogFilesOptions, type LogReport, openSegments } from './open-segments.ts'
import { recordBytes } from './record.ts'
import type { Segment } from './segment.ts'
import type { SegmentSet } from './segment-set.ts'

export interface LogStats {
  /** The size of all files. */
  readonly bytes: number
  readonly segments: number
  /** The numbers of the records that can be read; none if `oldest` is above `newest`. */
  readonly oldest: number
  readonly newest: number
}

/**
 * A log in files beside its store. Records that come while others are synced are written together and synced once.
 *
 * After an error nothing is known of the records that were being written, and the system may hold pages for written that are
 * not. So the files are opened again, the newest confirmed record is read back, and the next write begins at the same place.
 */
export class LogFiles {
  readonly #path: string
  readonly #segments: SegmentSet
  readonly #isSynced: boolean
  readonly #report: LogReport
  /** The newest batch that was trimmed, or that the log begins behind. */
  #trimmed: number
  #trimmedDurably: number
  #end: number
  /** The newest batch that is known to be on the disk. */
  #synced: number
  #isSuspect = false
  readonly #queue: AppendQueue
  #chores: Promise<unknown> = Promise.resolve()
  #isClosing = false

  private constructor(
    path: string,
    options: {
      readonly segments: SegmentSet
      readonly isSynced: boolean
      readonly report: LogReport
    },
  ) {
    this.#path = path
    this.#segments = options.segments
    this.#isSynced = options.isSynced
    this.#report = options.report
    this.#trimmed = options.report.first - 1
    this.#trimmedDurably = this.#trimmed
    this.#end = options.report.end.batch
    this.#synced = this.#end
    this.#queue = new AppendQueue({
      path,
      end: () => this.#end,
      newest: () => this.#newest(),
      hasRoom: (bytes) => this.#segments.current.hasRoom(bytes),
      write: (records) => this.#guarded(() => this.#write(records)),
    })
  }

  /** Opens the log of a store, which nobody else may have open. */
  static open(path: string, options: LogFilesOptions, disk: Disk = OS_DISK): LogFiles {
    const isSynced = options.durability !== 'relaxed'
    return new LogFiles(path, { ...openSegments(disk, path, options), isSynced })
  }

  report(): LogReport {
    return this.#report
  }

  append(record: LogRecord): Promise<void> {
    return this.#queue.append(record)
  }

  /** Records after a batch, about so many bytes of them. An empty page is the last. */
  readPage(after: number, bytes: number): Moved<readonly LogRecord[]> {
    if (after < this.#trimmed) {
      throw trimmedAway(this.#path, { after, first: this.#trimmed + 1 })
    }
    if (after >= this.#end) return new Moved([], [])
    const segment = this.#segments.live.find(({ last }) => last > after) as Segment
    const records: LogRecord[] = []
    let length = 0
    for (const { batch, digest, body } of segment.records(after)) {
      // A trim that failed may have moved the beginning.
      if (batch > after + records.length + 1) {
        throw trimmedAway(this.#path, { after, first: batch })
      }
      records.push({ batch, digest, body })
      length += body.length
      if (length >= bytes || batch === this.#end) break
    }
    if (records.length === 0) throw this.#damagedAfter(segment, after)
    // These buffers were read for this page, so nothing else points to them.
    const buffers = new Set(records.map(({ body }) => body.buffer as ArrayBuffer))
    return new Moved(records, [...buffers])
  }

  async trim(upTo: number): Promise<void> {
    if (upTo > this.#end) throw notNext(this.#path, { given: upTo, next: this.#end + 1 })
    const target = Math.max(upTo, this.#trimmed)
    if (target <= this.#trimmedDurably) return
    // Also if it fails: it may have happened all the same.
    this.#trimmed = target
    this.#guarded(() => {
      this.#segments.trim(target, this.#synced)
      this.#trimmedDurably = target
      // The other marks give away an older copy of the newest file. They need no sync of their own.
      for (const segment of this.#segments.free) segment.change({ mark: this.#synced })
    })
    await this.#afterChores(() => this.#removeSurplus())
  }

  /** Appends go on meanwhile. */
  async scrub(): Promise<void> {
    // The disk may still name the records of a trim that failed.
    await this.trim(this.#trimmed)
    return this.#afterChores(async () => {
      while (!this.#isClosing && this.#guarded(() => this.#scrubSome())) await nextTurn()
    })
  }

  stats(): LogStats {
    const { all } = this.#segments
    return {
      bytes: all.reduce((sum, { header }) => sum + header.size, 0),
      segments: all.length,
      oldest: this.#trimmed + 1,
      newest: this.#end,
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#queue.flush()
    await this.#chores.catch(() => {})
    try {
      this.#guarded(() => {
        const { all, current } = this.#segments
        current.sync()
        this.#synced = this.#end
        // Twice, for both places of the header.
        for (let i = 0; i < 2; i++) {
          for (const segment of all) {
            segment.change({ mark: this.#end })
            segment.sync()
          }
        }
      })
    } finally {
      this.#segments.close()
    }
  }

  #newest(): LogRecord | null {
    if (this.#end === this.#trimmed) return null
    const segment = this.#segments.live.findLast(({ newest }) => newest !== null)
    const [record] = segment?.records(this.#end - 1) ?? []
    if (record !== undefined) return record
    throw this.#damagedAfter(segment ?? this.#segments.current, this.#end - 1)
  }

  #write(records: readonly LogRecord[]): void {
    const bytes = records.reduce((sum, record) => sum + recordBytes(record), 0)
    if (!this.#segments.current.hasRoom(bytes)) {
      this.#segments.turn(bytes, { isStart: this.#trimmed === this.#end })
      this.#synced = this.#end
    }
    const { current } = this.#segments
    const found = current.write(records, this.#synced)
    if (this.#isSynced) current.sync()
    for (const record of found) current.add(record)
    this.#end += found.length
    if (!this.#isSynced) return
    this.#synced = this.#end
    this.#note()
  }

  /** Notes what is synced. The note reaches the disk with the next record, or when the process is gone. */
  #note(): void {
    try {
      this.#segments.current.change({ mark: this.#synced })
    } catch {
      // The records are stored all the same.
      this.#isSuspect = true
    }
  }

  /** Carries out what touches the files. After an error they are opened again, at the latest before the next act. */
  #guarded<Result>(act: () => Result): Result {
    try {
      if (this.#isSuspect) this.#reopen()
      return act()
    } catch (error) {
      this.#isSuspect = true
      try {
        this.#reopen()
      } catch {
        // The next act tries again.
      }
      throw asUnavailable(this.#path, error)
    }
  }

  #reopen(): void {
    for (const segment of this.#segments.all) segment.reopen()
    // Throws if it is damaged.
    this.#newest()
    this.#segments.current.rewriteAfter(this.#synced)
    this.#isSuspect = false
  }

  #damagedAfter(segment: Segment, after: number) {
    const what = `batch ${after + 1} is damaged`
    return damaged(this.#path, {
      file: segment.path,
      offset: segment.placeAfter(after),
      batch: after + 1,
      what,
    })
  }

  #afterChores<Result>(act: () => Promise<Result>): Promise<Result> {
    const chore = this.#chores.then(act, act)
    this.#chores = chore
    return chore
  }

  #scrubSome(): boolean {
    const { live, free } = this.#segments
    return (
      free.some((segment) => segment.scrubSome({ isFree: true })) ||
      live.some((segment) => segment.scrubSome({ isFree: false }))
    )
  }

  /** Free files that are not kept leave nothing on the disk. */
  async #removeSurplus(): Promise<void> {
    for (;;) {
      const surplus = this.#segments.takeSurplus()
      if (surplus === null) return
      try {
        while (surplus.scrubSome({ isFree: true })) await nextTurn()
        surplus.remove()
      } catch (error) {
        this.#segments.takeBack(surplus)
        throw asUnavailable(this.#path, error)
      }
    }
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
