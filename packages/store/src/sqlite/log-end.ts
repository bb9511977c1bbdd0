import { fdatasync, fdatasyncSync, writeSync, writevSync } from 'node:fs'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'

/** Before each batch: its length, a checksum of all that follows, and its number. */
export const HEAD_BYTES = 16
const NUMBER_AT = 8
/** In the length: the batch was synced before the next one was written. No batch is as long as this. */
const WAS_SYNCED = 0x8000_0000

/**
 * Whole numbers: whether somebody holds the log, the batch that was looked at last, and the length of the one that
 * lies here to be looked at.
 */
const HELD = 0
const CHECKED = 1
const GIVEN = 2
/** An even number of them, for the sake of the doubles behind. */
const WHOLE_CELLS = 4
/** Behind them, in doubles: the file in use, whether its end is torn, the start of checksums, syncs; then the files. */
const CURRENT = 0
const IS_TORN = 1
const SEED = 2
const IS_SYNCED = 3
const SEGMENTS = 4
const SEGMENT = { file: 0, size: 1, end: 2, last: 3 } as const
const SEGMENT_CELLS = 4
const GIVEN_AT = WHOLE_CELLS * 4 + (SEGMENTS + 2 * SEGMENT_CELLS) * 8
/** Of a batch that is given here: one that is longer is handed over. */
const GIVEN_MAX = 4_096

const NO_FILE = -1

const syncBeside = promisify(fdatasync)

/** A whole batch in a file. */
export interface FoundBatch {
  readonly number: number
  readonly batch: Uint8Array
  /** Where it ends. */
  readonly end: number
  readonly wasSynced: boolean
}

/** One of the two files of a log. */
export class LogSegment {
  readonly #cells: Float64Array
  readonly #at: number

  constructor(cells: Float64Array, index: number) {
    this.#cells = cells
    this.#at = SEGMENTS + index * SEGMENT_CELLS
  }

  /** Null until something is written to it. */
  get file(): number | null {
    const file = this.#get(SEGMENT.file)
    return file === NO_FILE ? null : file
  }

  set file(file: number | null) {
    this.#set(SEGMENT.file, file ?? NO_FILE)
  }

  /** So long it is, and all of that has been written before. */
  get size(): number {
    return this.#get(SEGMENT.size)
  }

  set size(size: number) {
    this.#set(SEGMENT.size, size)
  }

  /** Where the next batch goes; what lies behind it is of no account. */
  get end(): number {
    return this.#get(SEGMENT.end)
  }

  set end(end: number) {
    this.#set(SEGMENT.end, end)
  }

  /** The newest batch in it. */
  get last(): number {
    return this.#get(SEGMENT.last)
  }

  set last(last: number) {
    this.#set(SEGMENT.last, last)
  }

  #get(cell: number): number {
    return this.#cells[this.#at + cell] as number
  }

  #set(cell: number, value: number): void {
    this.#cells[this.#at + cell] = value
  }
}

/**
 * Where a log ends, in memory that two threads see: the one that has the file, and the one that gives batches.
 * A batch that comes alone is written and synced by its giver, while the other thread looks at it
 * (STORE-17): to be handed over and back again would take as long as half a sync. Who changes anything
 * here, or writes to the files, holds it meanwhile.
 */
export class LogEnd {
  readonly memory: SharedArrayBuffer
  readonly segments: readonly [LogSegment, LogSegment]
  readonly #whole: Int32Array
  readonly #cells: Float64Array
  readonly #given: Uint8Array
  readonly #head = Buffer.alloc(HEAD_BYTES)

  /** The second thread is given the memory that the first made. */
  constructor(memory = new SharedArrayBuffer(GIVEN_AT + GIVEN_MAX)) {
    this.memory = memory
    this.#whole = new Int32Array(memory, 0, WHOLE_CELLS)
    this.#cells = new Float64Array(memory, WHOLE_CELLS * 4, SEGMENTS + 2 * SEGMENT_CELLS)
    this.#given = new Uint8Array(memory, GIVEN_AT)
    this.segments = [new LogSegment(this.#cells, 0), new LogSegment(this.#cells, 1)]
  }

  /** For the thread that has the file: before anybody else writes. */
  begin({ seed, isSynced }: { seed: number; isSynced: boolean }): void {
    this.#cells[SEED] = seed
    this.#cells[IS_SYNCED] = isSynced ? 1 : 0
    for (const segment of this.segments) segment.file = null
  }

  get isSynced(): boolean {
    return this.#cells[IS_SYNCED] === 1
  }

  get current(): LogSegment {
    return this.segments[this.#cells[CURRENT] as 0 | 1]
  }

  set current(segment: LogSegment) {
    this.#cells[CURRENT] = segment === this.segments[0] ? 0 : 1
  }

  /** A batch that is not whole may lie at the end. */
  get isTorn(): boolean {
    return this.#cells[IS_TORN] === 1
  }

  set isTorn(isTorn: boolean) {
    this.#cells[IS_TORN] = isTorn ? 1 : 0
  }

  /** Acts while nobody else does. */
  holding<Answer>(act: () => Answer): Answer {
    this.hold()
    try {
      return act()
    } finally {
      this.letGo()
    }
  }

  /** Waits until nobody else has it; it is held until it is let go. */
  hold(): void {
    while (!this.tryHold()) Atomics.wait(this.#whole, HELD, 1)
  }

  /** Whether nobody else has it; then it is held until it is let go. */
  tryHold(): boolean {
    return Atomics.compareExchange(this.#whole, HELD, 0, 1) === 0
  }

  letGo(): void {
    Atomics.store(this.#whole, HELD, 0)
    Atomics.notify(this.#whole, HELD)
  }

  /**
   * Lays the batch that will have this number here, for the other thread to look at; the one before has been looked
   * at. What was said of one that had the same number, and could not be written, is not meant for this one.
   */
  give(batch: Uint8Array, number: number): void {
    this.#given.set(batch)
    Atomics.store(this.#whole, GIVEN, batch.length)
    Atomics.store(this.#whole, CHECKED, (number - 1) | 0)
  }

  /** A copy of it. */
  given(): Uint8Array {
    return this.#given.slice(0, Atomics.load(this.#whole, GIVEN))
  }

  /** The batch of this number may be done. */
  noteChecked(number: number): void {
    Atomics.store(this.#whole, CHECKED, number | 0)
    Atomics.notify(this.#whole, CHECKED)
  }

  /** Whether that is known within a time. */
  awaitChecked(number: number, waitMs: number): boolean {
    const seen = Atomics.load(this.#whole, CHECKED)
    if (seen === (number | 0)) return true
    Atomics.wait(this.#whole, CHECKED, seen, waitMs)
    return Atomics.load(this.#whole, CHECKED) === (number | 0)
  }

  /** Whether a batch has a place here, and one among bytes that were written before, so that a sync has least to do. */
  hasRoom(batch: Uint8Array): boolean {
    if (batch.length > GIVEN_MAX || this.isTorn) return false
    const { file, end, size } = this.current
    return file !== null && end + HEAD_BYTES + batch.length <= size
  }

  /**
   * Its file is open and its end whole. The batch is durable when this returns; if it throws, the batch is
   * not there, and the next takes its place.
   */
  append(batch: Uint8Array): void {
    const file = this.#write(batch)
    try {
      if (this.isSynced) fdatasyncSync(file)
    } catch (error) {
      this.#tryToMend()
      throw error
    }
    this.#goBehind(batch)
  }

  /** The same where batches are synced: the thread is free while the disk is at it. */
  async appendBeside(batch: Uint8Array): Promise<void> {
    const file = this.#write(batch)
    try {
      await syncBeside(file)
    } catch (error) {
      this.#tryToMend()
      throw error
    }
    this.#goBehind(batch)
  }

  /** Returns the file, which is to be synced. */
  #write(batch: Uint8Array): number {
    const segment = this.current
    const file = segment.file as number
    const head = this.#head
    head.writeDoubleLE(segment.last + 1, NUMBER_AT)
    head.writeUInt32LE((batch.length | (this.isSynced ? WAS_SYNCED : 0)) >>> 0, 0)
    head.writeUInt32LE(this.#sumOf(head, batch), 4)
    this.isTorn = true
    try {
      writeAll(file, [head, batch], segment.end)
    } catch (error) {
      this.#tryToMend()
      throw error
    }
    return file
  }

  /** A batch is there for good, and the next one comes behind it. */
  #goBehind(batch: Uint8Array): void {
    const segment = this.current
    this.isTorn = false
    segment.end += HEAD_BYTES + batch.length
    segment.size = Math.max(segment.size, segment.end)
    segment.last++
  }

  /** A batch that was refused must not be found: it may be all there, with only its sync gone wrong. */
  mend(): void {
    const { file, end } = this.current
    if (!this.isTorn || file === null) return
    writeAll(file, [Buffer.alloc(HEAD_BYTES)], end)
    if (this.isSynced) fdatasyncSync(file)
    this.isTorn = false
  }

  /** At once, lest who is killed now leaves it behind. What cannot be done is done before the next one is written. */
  #tryToMend(): void {
    try {
      this.mend()
    } catch {}
  }

  /** The batch at a place of a file's content; null if none is there, or not all of one. */
  batchAt(content: Buffer, at: number): FoundBatch | null {
    if (at < 0 || at + HEAD_BYTES > content.length) return null
    const head = content.subarray(at, at + HEAD_BYTES)
    const length = head.readUInt32LE(0)
    const end = at + HEAD_BYTES + (length & ~WAS_SYNCED)
    const batch = content.subarray(at + HEAD_BYTES, end)
    if (end > content.length || head.readUInt32LE(4) !== this.#sumOf(head, batch)) return null
    const wasSynced = length >= WAS_SYNCED
    return { number: head.readDoubleLE(NUMBER_AT), batch, end, wasSynced }
  }

  /** The batch of a number wherever it begins in the first bytes of a content, whatever lies before it. */
  batchIn(content: Buffer, number: number, within: number): FoundBatch | null {
    const written = Buffer.alloc(8)
    written.writeDoubleLE(number)
    const first = content.subarray(0, within)
    for (let at = first.indexOf(written); at >= 0; at = first.indexOf(written, at + 1)) {
      const found = this.batchAt(content, at - NUMBER_AT)
      if (found !== null) return found
    }
    return null
  }

  #sumOf(head: Buffer, batch: Uint8Array): number {
    return crc32(batch, crc32(head.subarray(NUMBER_AT), this.#cells[SEED] as number))
  }
}

/** A call may write less than it was given, without an error. */
export function writeAll(file: number, parts: readonly Uint8Array[], at: number): void {
  const total = parts.reduce((sum, part) => sum + part.length, 0)
  const written = writevSync(file, [...parts], at)
  if (written === total) return
  const whole = Buffer.concat(parts)
  for (let done = written; done < total; ) {
    done += writeSync(file, whole, done, total - done, at + done)
  }
}
