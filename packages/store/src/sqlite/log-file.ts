import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { OWNER_ONLY } from './file-mode.ts'
import { type FoundBatch, HEAD_BYTES, LogEnd, type LogSegment, writeAll } from './log-end.ts'
import type { LoggedStore } from './migrate.ts'
import { unavailable } from './unavailable.ts'

/**
 * Small batches make room for the next ones, too: to sync blocks that a file has already takes two thirds of
 * the time that a longer file takes. As much again as there is, up to a bound: whoever comes when room is made
 * waits longer. Where a batch is no smaller than this, zeros that are written before it cost more than they gain.
 */
const ROOM_BYTES = 65_536
const ROOM_BYTES_MAX = 1_048_576
const SMALL_BATCH_BYTES = 8_192

/** Behind a batch that is missing so many others are looked for, in case some of them are damaged, too; and so far. */
const LOOKED_FOR_BEHIND = 16
const LOOKED_THROUGH_BYTES = 8 * 1_048_576

/**
 * The log in front of the tables (STORE-14): batches with ascending numbers in two files beside the
 * store, which take turns. One is written while the batches of the other are checkpointed into their tables;
 * then it is written again from its start. Where it ends is known to the giver of the batches, too, who may
 * have written one that this thread has not heard of yet.
 *
 * A batch that was torn by a power cut does not have its checksum, and nothing behind it counts. What
 * was left behind by an earlier turn has a number that is too low. The checksum begins with the id of
 * the store, so that a log which was copied beside another store is not taken for its own.
 */
export class LogFile {
  readonly #end: LogEnd
  readonly #path: string
  readonly #paths: readonly [string, string]
  /** The newest batch that this thread knows of. */
  #last: number
  /** All bytes so far, up to the last batch that is checkpointed, and up to each one behind it by its number. */
  #total = 0
  #checkpointedTotal = 0
  #isSyncing = false
  readonly #totals = new Map<number, number>()

  /** `checkpointed` is the number of the last batch that is in the tables, `checked` of the last of which anything is. */
  constructor(
    path: string,
    options: {
      readonly id: Uint8Array
      readonly checkpointed: number
      readonly checked: number
      readonly isSynced: boolean
      readonly end: LogEnd
    },
  ) {
    const { id, checkpointed, checked, isSynced, end } = options
    this.#end = end
    this.#path = path
    this.#paths = pathsOf(path)
    this.#last = checkpointed
    end.begin({ seed: crc32(id), isSynced })
    for (const segment of end.segments) segment.last = checkpointed
    this.#takeUp(checkpointed, checked)
  }

  /** The number of the newest batch that is known here. */
  get last(): number {
    return this.#last
  }

  /** Whether all of it is checkpointed. */
  get isEmpty(): boolean {
    return this.#totals.size === 0
  }

  /** Bytes that are not checkpointed yet. */
  get waitingBytes(): number {
    return this.#total - this.#checkpointedTotal
  }

  /** Durable when it returns. If it throws, the batch is not there, and the next takes its place. */
  append(batch: Uint8Array): void {
    const end = this.#end
    end.holding(() => {
      this.#prepare(batch)
      end.append(batch)
    })
    this.#count(this.#last + 1, batch)
  }

  /** The same, without the thread waiting for the disk. Until it is over nobody may use the log. */
  async appendBeside(batch: Uint8Array): Promise<void> {
    const end = this.#end
    end.hold()
    this.#isSyncing = true
    try {
      this.#prepare(batch)
      await end.appendBeside(batch)
    } finally {
      this.#isSyncing = false
      end.letGo()
    }
    this.#count(this.#last + 1, batch)
  }

  /** Whether the disk is at it. */
  get isSyncing(): boolean {
    return this.#isSyncing
  }

  /** A place for a batch behind the last. */
  #prepare(batch: Uint8Array): void {
    const segment = this.#end.current
    segment.file ??= open(this.#pathOf(segment))
    makeRoom(segment.file, segment, HEAD_BYTES + batch.length)
    this.#end.mend()
  }

  /** Whether the giver has written the next one, which is this; if it is at it, waits until that is done. */
  hasWritten(batch: Uint8Array): boolean {
    const number = this.#last + 1
    const end = this.#end
    const isThere = () => end.current.last >= number
    // The giver may have the log in its hands again, for the one behind it.
    if (!isThere() && !end.holding(isThere)) return false
    this.#count(number, batch)
    return true
  }

  /** One that its giver wrote and that may not be done: it is as if it had not been written. */
  takeBack(number: number, batch: Uint8Array): void {
    const end = this.#end
    end.holding(() => {
      const segment = end.current
      if (segment.last !== number) return
      segment.end -= HEAD_BYTES + batch.length
      segment.last = number - 1
      end.isTorn = true
      try {
        segment.file ??= open(this.#pathOf(segment))
        end.mend()
      } catch {
        // The next batch is not written before that is done; and who finds this one looks at it.
      }
    })
    if (this.#last !== number) return
    this.#last--
    this.#total -= HEAD_BYTES + batch.length
    this.#totals.delete(number)
  }

  /** Without syncs of its own: what is in the tables has to be here, or of two changes the later could survive alone. */
  syncAll(): void {
    const end = this.#end
    if (end.isSynced) return
    end.holding(() => {
      for (const { file } of end.segments) if (file !== null) fdatasyncSync(file)
    })
  }

  /** Goes on in the other file, if that is free, and if nothing may have to be taken back. */
  turn(): void {
    const end = this.#end
    end.holding(() => {
      const [a, b] = end.segments
      const other = end.current === a ? b : a
      const isSure = !end.isTorn && end.current.last === this.#last
      if (other.end > 0 || end.current.end === 0 || !isSure) return
      other.last = end.current.last
      end.current = other
    })
  }

  /** The batches up to this number are in their tables, durably: their files are free. */
  release(checkpointed: number): void {
    for (const [number, total] of this.#totals) {
      if (number > checkpointed) break
      this.#checkpointedTotal = total
      this.#totals.delete(number)
    }
    const { segments } = this.#end
    this.#end.holding(() => {
      for (const segment of segments) if (segment.last <= checkpointed) segment.end = 0
    })
  }

  /** Batches after a number, oldest first. */
  batchesAfter(checkpointed: number): readonly FoundBatch[] {
    return this.#end.segments
      .flatMap((segment) => batchesIn(this.#end, contentOf(this.#pathOf(segment)), checkpointed))
      .filter(({ number }) => number <= this.#last)
      .sort((a, b) => a.number - b.number)
  }

  /** With nothing left to checkpoint the files can go. */
  close(): void {
    this.#end.holding(() => {
      for (const segment of this.#end.segments) {
        if (segment.file !== null) closeSync(segment.file)
        segment.file = null
        segment.size = 0
        if (this.isEmpty) rmSync(this.#pathOf(segment), { force: true })
      }
    })
  }

  /** Finds where another process left off. */
  #takeUp(checkpointed: number, checked: number): void {
    const end = this.#end
    const files = end.segments.map((segment) => {
      const content = contentOf(this.#pathOf(segment))
      return { segment, content, found: batchesIn(end, content, checkpointed) }
    })
    const inOrder = files
      .filter(({ found }) => found.length > 0)
      .sort((a, b) => numberOf(a.found) - numberOf(b.found))
    for (const { segment, found } of inOrder) {
      // The batch before it is not whole: nothing behind that was confirmed, or it is damaged.
      if (numberOf(found) > this.#last + 1) break
      end.current = segment
      segment.last = found.at(-1)?.number as number
      segment.end = found.at(-1)?.end as number
      for (const { number, batch } of found) this.#count(number, batch)
    }
    const rests = files.map(({ segment, content }) => content.subarray(segment.end))
    this.#refuseDamaged(rests, checked)
    for (const { segment, content } of files) if (content.length > 0) this.#makeSure(segment)
  }

  /**
   * A batch that was not whole is of no account, if it was the last: it was torn, and never confirmed. But
   * behind one that was synced others follow, and the tables note how far the log goes: if any of that is
   * not there, then what was confirmed is lost, which must not pass unseen (STORE-13).
   */
  #refuseDamaged(rests: readonly Buffer[], checked: number): void {
    const missing = this.#last + 1
    const isThere = (number: number): boolean =>
      rests.some((rest) => this.#end.batchIn(rest, number, LOOKED_THROUGH_BYTES)?.wasSynced)
    const behind = Array.from({ length: LOOKED_FOR_BEHIND }, (_, n) => missing + 1 + n)
    if (missing > checked && !behind.some(isThere)) return
    const [a, b] = this.#paths
    throw unavailable(
      this.#path,
      'damaged',
      `batch ${missing} of its log is missing or damaged, and it was confirmed; keep copies of it, of ${a} and of ${b}, ` +
        'and bring these back as they were, or go back to the last backup',
    )
  }

  /**
   * What is built on is synced, whoever wrote it. What lies behind the end goes: without syncs it may be whole
   * batches behind a torn one, which must not be taken for the next ones one day.
   */
  #makeSure(segment: LogSegment): void {
    segment.file ??= open(this.#pathOf(segment))
    ftruncateSync(segment.file, segment.end)
    segment.size = segment.end
    if (this.#end.isSynced) fdatasyncSync(segment.file)
  }

  #count(number: number, batch: Uint8Array): void {
    this.#last = number
    this.#total += HEAD_BYTES + batch.length
    this.#totals.set(number, this.#total)
  }

  #pathOf(segment: LogSegment): string {
    return this.#paths[segment === this.#end.segments[0] ? 0 : 1]
  }
}

/** The batches of the log of a store that are not in its tables, where nobody has the log open. */
export function waitingBatches(
  path: string,
  { id, checkpointed }: LoggedStore,
): readonly FoundBatch[] {
  const end = new LogEnd()
  end.begin({ seed: crc32(id), isSynced: false })
  return pathsOf(path).flatMap((file) => batchesIn(end, contentOf(file), checkpointed))
}

function pathsOf(path: string): readonly [string, string] {
  return [`${path}-log-a`, `${path}-log-b`]
}

/** The whole batches of a file whose numbers follow each other, after a number. */
function batchesIn(log: LogEnd, content: Buffer, checkpointed: number): FoundBatch[] {
  const found: FoundBatch[] = []
  let due: number | null = null
  for (let next = log.batchAt(content, 0); next !== null; ) {
    const { number, end } = next
    if (number !== (due ?? number)) break
    if (number > checkpointed) found.push(next)
    due = number + 1
    next = log.batchAt(content, end)
  }
  return found
}

/** For a small batch and some more of its size. */
function makeRoom(file: number, segment: LogSegment, bytes: number): void {
  segment.size ||= fstatSync(file).size
  if (segment.end + bytes <= segment.size || bytes >= SMALL_BATCH_BYTES) return
  const room = Math.min(Math.max(segment.size, ROOM_BYTES), ROOM_BYTES_MAX)
  writeAll(file, [Buffer.alloc(room)], segment.size)
  segment.size += room
}

function numberOf(found: readonly FoundBatch[]): number {
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
  const file = openSync(path, 'w+', OWNER_ONLY)
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
  return file
}
