import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
  writevSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'

/** Before each batch: its length, a checksum of all that follows, and its number. */
const HEAD_BYTES = 16
const NUMBER_AT = 8
/**
 * Small batches make room for the next ones, too: to sync blocks that a file has already takes two thirds of
 * the time that a longer file takes. Where a batch is no smaller than this, zeros that are written before it
 * cost more than they gain.
 */
const ROOM_BYTES = 65_536
const SMALL_BATCH_BYTES = 8_192
const ZEROS = Buffer.alloc(ROOM_BYTES)

/** One of the two files of a log. */
interface Segment {
  readonly path: string
  /** Null until something is written to it. */
  file: number | null
  /** So long it is, and all of that has been written before. */
  size: number
  /** Where the next batch goes; what lies behind it is of no account. */
  end: number
  /** The newest batch in it. */
  last: number
}

/** A batch and its number. */
export interface Found {
  readonly number: number
  readonly batch: Uint8Array
}

/**
 * The log in front of the tables (STORE-14): batches with ascending numbers in two files beside the
 * store, which take turns. One is written while the batches of the other are carried into their tables;
 * then it is written again from its start.
 *
 * A batch that was torn by a power cut does not have its checksum, and nothing behind it counts. What
 * was left behind by an earlier turn has a number that is too low. The checksum begins with the id of
 * the store, so that a log which was copied beside another store is not taken for its own.
 */
export class LogFile {
  readonly #segments: readonly [Segment, Segment]
  readonly #seed: number
  readonly #isSynced: boolean
  readonly #head = Buffer.alloc(HEAD_BYTES)
  #current: Segment
  #isTorn = false
  /** All bytes so far, up to the last batch that is carried, and up to each one behind it by its number. */
  #total = 0
  #carriedTotal = 0
  readonly #totals = new Map<number, number>()

  /** `carried` is the number of the last batch that is in the tables. */
  constructor(
    path: string,
    { id, carried, isSynced }: { id: Uint8Array; carried: number; isSynced: boolean },
  ) {
    const segment = (end: string) => ({
      path: path + end,
      file: null,
      size: 0,
      end: 0,
      last: carried,
    })
    this.#segments = [segment('-log-a'), segment('-log-b')]
    this.#current = this.#segments[0]
    this.#seed = crc32(id)
    this.#isSynced = isSynced
    this.#takeUp(carried)
  }

  /** The number of the newest batch. */
  get last(): number {
    return this.#current.last
  }

  /** Whether all of it is carried, and its files are free. */
  get isEmpty(): boolean {
    return this.#segments[0].end + this.#segments[1].end === 0
  }

  /** Bytes that are not carried yet. */
  get waitingBytes(): number {
    return this.#total - this.#carriedTotal
  }

  /** Durable when it returns. If it throws, the batch is not there, and the next takes its place. */
  append(batch: Uint8Array): void {
    const segment = this.#current
    segment.file ??= open(segment.path)
    this.#makeRoom(segment.file, segment, HEAD_BYTES + batch.length)
    if (this.#isTorn) this.#erase(segment.file, segment.end)
    const number = segment.last + 1
    const head = this.#head
    head.writeDoubleLE(number, NUMBER_AT)
    head.writeUInt32LE(batch.length, 0)
    head.writeUInt32LE(this.#sumOf(head, batch), 4)
    this.#isTorn = true
    writeAll(segment.file, [head, batch], segment.end)
    if (this.#isSynced) fdatasyncSync(segment.file)
    this.#isTorn = false
    segment.end += HEAD_BYTES + batch.length
    segment.size = Math.max(segment.size, segment.end)
    segment.last = number
    this.#count(number, batch)
  }

  /** Goes on in the other file, if that is free. */
  turn(): void {
    const other = this.#segments[this.#current === this.#segments[0] ? 1 : 0]
    if (other.end > 0 || this.#current.end === 0 || this.#isTorn) return
    other.last = this.#current.last
    this.#current = other
  }

  /** The batches up to this number are in their tables, durably: their files are free. */
  release(carried: number): void {
    for (const [number, total] of this.#totals) {
      if (number > carried) break
      this.#carriedTotal = total
      this.#totals.delete(number)
    }
    for (const segment of this.#segments) {
      if (segment.last <= carried) segment.end = 0
    }
  }

  /** Batches after a number, oldest first. */
  batchesAfter(carried: number): readonly Found[] {
    return this.#segments
      .flatMap((segment) => this.#read(segment, carried).filter(({ end }) => end <= segment.end))
      .sort((a, b) => a.number - b.number)
  }

  /** With nothing left to carry the files can go. */
  close(): void {
    for (const segment of this.#segments) {
      if (segment.file !== null) closeSync(segment.file)
      segment.file = null
      segment.size = 0
      if (this.isEmpty) rmSync(segment.path, { force: true })
    }
  }

  /** Finds where another process left off. */
  #takeUp(carried: number): void {
    const inOrder = this.#segments
      .map((segment) => ({ segment, found: this.#read(segment, carried) }))
      .filter(({ found }) => found.length > 0)
      .sort((a, b) => numberOf(a.found) - numberOf(b.found))
    for (const { segment, found } of inOrder) {
      // A gap means that the batch before it was torn, so that nothing behind it was confirmed.
      if (numberOf(found) > this.#current.last + 1) break
      this.#current = segment
      segment.last = found.at(-1)?.number as number
      segment.end = found.at(-1)?.end as number
      for (const { number, batch } of found) this.#count(number, batch)
    }
  }

  #count(number: number, batch: Uint8Array): void {
    this.#total += HEAD_BYTES + batch.length
    this.#totals.set(number, this.#total)
  }

  /** The whole batches of a file whose numbers follow each other. */
  #read(segment: Segment, carried: number): (Found & { readonly end: number })[] {
    const found: (Found & { readonly end: number })[] = []
    const bytes = contentOf(segment.path)
    let due: number | null = null
    for (let at = 0; at + HEAD_BYTES <= bytes.length; ) {
      const head = bytes.subarray(at, at + HEAD_BYTES)
      const end = at + HEAD_BYTES + head.readUInt32LE(0)
      const batch = bytes.subarray(at + HEAD_BYTES, end)
      const number = head.readDoubleLE(NUMBER_AT)
      const isWhole = end <= bytes.length && head.readUInt32LE(4) === this.#sumOf(head, batch)
      if (!isWhole || number !== (due ?? number)) break
      if (number > carried) found.push({ number, batch, end })
      due = number + 1
      at = end
    }
    return found
  }

  #sumOf(head: Buffer, batch: Uint8Array): number {
    return crc32(batch, crc32(head.subarray(NUMBER_AT), this.#seed))
  }

  /** For a small batch and some more of its size. */
  #makeRoom(file: number, segment: Segment, bytes: number): void {
    segment.size ||= fstatSync(file).size
    if (segment.end + bytes <= segment.size || bytes >= SMALL_BATCH_BYTES) return
    writeAll(file, [ZEROS], segment.size)
    segment.size += ROOM_BYTES
  }

  /** A batch that was refused must not be found: it may be all there, with only its sync gone wrong. */
  #erase(file: number, at: number): void {
    writeAll(file, [Buffer.alloc(HEAD_BYTES)], at)
    if (this.#isSynced) fdatasyncSync(file)
    this.#isTorn = false
  }
}

function numberOf(found: readonly Found[]): number {
  return found[0]?.number ?? 0
}

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

/** A new file is there for good only when its folder is synced as well. */
function open(path: string): number {
  try {
    return openSync(path, 'r+')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const file = openSync(path, 'w+')
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
  return file
}

/** A call may write less than it was given, without an error. */
function writeAll(file: number, parts: readonly Uint8Array[], at: number): void {
  const total = parts.reduce((sum, part) => sum + part.length, 0)
  const written = writevSync(file, [...parts], at)
  if (written === total) return
  const whole = Buffer.concat(parts)
  for (let done = written; done < total; ) {
    done += writeSync(file, whole, done, total - done, at + done)
  }
}
