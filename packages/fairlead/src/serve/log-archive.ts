import { closeSync, openSync, readdirSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { LogRecord } from '@fairlead/core/internal'
import { archivedLine } from './archived-line.ts'

export interface ArchiveOptions {
  readonly folder: string
  /** Files that are older are removed. */
  readonly days: number
  /** The oldest files are removed while all together are larger. */
  readonly bytes: number
  /** A file of so many bytes is followed by another one. */
  readonly segmentBytes?: number
}

/** A file of the archive. */
interface Segment {
  readonly handle: FileHandle
  readonly first: number
  path: string
  bytes: number
}

const SEGMENT_BYTES = 16 * 1_048_576
const DAY_MS = 86_400_000
const OWNER_ONLY = 0o600
/** Digits of a batch in a name, so that names are in the order of the batches. */
const BATCH_DIGITS = 12
const SEGMENT_NAME = /^log-\d{12}-\d{12}-[0-9a-f]{8}\.jsonl\.gz$/

const compressed = promisify(gzip)

/**
 * Commands that the log does not need any more, as gzip-compressed lines of JSON. A file is named by its first and last batch and
 * the digest of the last one. Each write is a gzip member of its own, so a file can be read while it grows.
 */
export class LogArchive {
  readonly #options: ArchiveOptions
  #open: Segment | null = null

  constructor(options: ArchiveOptions) {
    this.#options = options
  }

  /** Resolves when the records survive a power cut. After an error nothing of them is left in the current file. */
  async write(records: readonly LogRecord[]): Promise<void> {
    const [first] = records
    const last = records.at(-1)
    if (first === undefined || last === undefined) return
    const bytes = await compressed(records.map(archivedLine).join(''))
    const segment = this.#open ?? (await this.#begin(first, last))
    try {
      await writeAll(segment, bytes)
      await segment.handle.datasync()
      await this.#rename(segment, last)
      await syncFolder(this.#options.folder)
    } catch (error) {
      await this.#abandon(segment)
      throw error
    }
    segment.bytes += bytes.length
    const { segmentBytes = SEGMENT_BYTES } = this.#options
    if (segment.bytes < segmentBytes) return
    await this.close()
    this.#removeOld()
  }

  async close(): Promise<void> {
    const segment = this.#open
    this.#open = null
    await segment?.handle.close()
  }

  async #begin(first: LogRecord, last: LogRecord): Promise<Segment> {
    const { folder } = this.#options
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = join(folder, nameOf(first.batch, last))
    // The same records again, after a crash before they were trimmed, take the place of the first ones.
    const handle = await open(path, 'w', OWNER_ONLY)
    this.#open = { handle, first: first.batch, path, bytes: 0 }
    this.#removeOld()
    return this.#open
  }

  async #rename(segment: Segment, last: LogRecord): Promise<void> {
    const path = join(this.#options.folder, nameOf(segment.first, last))
    if (path === segment.path) return
    await rename(segment.path, path)
    segment.path = path
  }

  /** The next write begins another file. */
  async #abandon({ handle, bytes, path }: Segment): Promise<void> {
    this.#open = null
    await handle.truncate(bytes).catch(() => undefined)
    await handle.close().catch(() => undefined)
    if (bytes === 0) rmSync(path, { force: true })
  }

  /** The file that is being written stays. */
  #removeOld(): void {
    const { days, bytes: bytesMax } = this.#options
    let bytes = 0
    for (const { path, size, at } of archivedFiles(this.#options.folder).reverse()) {
      bytes += size
      const isOld = Date.now() - at > days * DAY_MS || bytes > bytesMax
      if (isOld && path !== this.#open?.path) rmSync(path, { force: true })
    }
  }
}

/** The files of an archive, the oldest first. Empty if there is no such folder. */
export function archivedFiles(
  folder: string,
): { readonly path: string; readonly size: number; readonly at: number }[] {
  try {
    return readdirSync(folder)
      .filter((name) => SEGMENT_NAME.test(name))
      .map((name) => {
        const path = join(folder, name)
        const { size, mtimeMs: at } = statSync(path)
        return { path, size, at }
      })
      .sort((a, b) => a.at - b.at || (a.path < b.path ? -1 : 1))
  } catch {
    return []
  }
}

/** Null if files can be made there, or the folder can. */
export function archiveProblem(folder: string): string | null {
  const probe = join(folder, '.writable')
  try {
    if (statSync(folder, { throwIfNoEntry: false }) === undefined) return null
    closeSync(openSync(probe, 'w', OWNER_ONLY))
    rmSync(probe)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

/** Makes the names in it durable. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** A disk that is almost full takes a part of the bytes without an error. */
async function writeAll({ handle, bytes: at }: Segment, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at + done)
    if (bytesWritten === 0) throw new Error('the disk took no more bytes')
    done += bytesWritten
  }
}

function nameOf(first: number, last: LogRecord): string {
  const [from, to] = [first, last.batch].map((batch) => String(batch).padStart(BATCH_DIGITS, '0'))
  return `log-${from}-${to}-${last.digest.toString(16).padStart(8, '0')}.jsonl.gz`
}
