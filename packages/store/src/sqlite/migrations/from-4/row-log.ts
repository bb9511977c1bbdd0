import { existsSync, readFileSync, rmSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { unavailable } from '../../../unavailable.ts'

/**
 * The log of rows that version 4 had in front of its tables: batches with ascending numbers in two files that took turns. Before
 * each batch: its length, a checksum of all that follows, and its number as a double. The highest bit of the length says that
 * the batch was synced before the next one was written. What an earlier turn left has a lower number.
 */
export interface RowLog {
  /** The batches that the tables lack, or have a part of. */
  readonly batches: readonly Buffer[]
  /** Bytes of a batch that a crash tore. It was never confirmed. */
  readonly tornBytes: number
}

/** The row about a store of version 4. */
export interface OldStore {
  readonly id: Uint8Array
  /** All rows up to this batch are in the tables. */
  readonly carried: number
  /** The last batch of which any row can be in the tables. */
  readonly checked: number
}

const HEAD_BYTES = 16
const NUMBER_AT = 8
const WAS_SYNCED = 0x8000_0000
const FORMAT = 5

/** So many batches behind a missing one are looked for, and so far: one of them proves that it was confirmed. */
const LOOKED_FOR = 16
const LOOKED_THROUGH_BYTES = 8 * 1_048_576

interface Found {
  readonly number: number
  readonly body: Buffer
  readonly end: number
  readonly wasSynced: boolean
}

export function rowLogFiles(path: string): string[] {
  return ['-log-a', '-log-b'].map((end) => path + end).filter((file) => existsSync(file))
}

export function removeRowLog(path: string): void {
  for (const file of rowLogFiles(path)) rmSync(file)
}

/** Reads what the log has behind the tables. A batch that was confirmed and is not whole is refused. */
export function readRowLog(path: string, { id, carried, checked }: OldStore): RowLog {
  const seed = crc32(id)
  const contents = rowLogFiles(path).map((file) => readFileSync(file))
  const runs = contents.map((content) => ({ content, found: runIn(content, seed, carried) }))
  const batches: Buffer[] = []
  let last = carried
  const ends = new Map<Buffer, number>()
  const inOrder = runs.toSorted((a, b) => firstOf(a.found) - firstOf(b.found))
  for (const { content, found } of inOrder) {
    if (found.length === 0 || firstOf(found) > last + 1) continue
    for (const { number, body, end } of found) {
      batches.push(body)
      last = number
      ends.set(content, end)
    }
  }
  const rests = contents.map((content) => content.subarray(ends.get(content) ?? 0))
  refuseDamage(path, rests, { seed, missing: last + 1, checked })
  for (const body of batches) if (body[0] !== FORMAT) throw otherFormat(path, body[0])
  return { batches, tornBytes: Math.max(0, ...rests.map((rest) => tornIn(rest, last + 1))) }
}

/** The whole batches at the start of a file whose numbers follow each other, behind a number. */
function runIn(content: Buffer, seed: number, carried: number): Found[] {
  const found: Found[] = []
  let due: number | null = null
  for (let next = batchAt(content, 0, seed); next !== null; ) {
    if (next.number !== (due ?? next.number)) break
    if (next.number > carried) found.push(next)
    due = next.number + 1
    next = batchAt(content, next.end, seed)
  }
  return found
}

function firstOf(found: readonly Found[]): number {
  return found[0]?.number ?? Number.POSITIVE_INFINITY
}

function batchAt(content: Buffer, at: number, seed: number): Found | null {
  if (at < 0 || at + HEAD_BYTES > content.length) return null
  const length = content.readUInt32LE(at)
  const end = at + HEAD_BYTES + (length & ~WAS_SYNCED)
  if (end > content.length) return null
  const body = content.subarray(at + HEAD_BYTES, end)
  const sum = crc32(body, crc32(content.subarray(at + NUMBER_AT, at + HEAD_BYTES), seed))
  if (content.readUInt32LE(at + 4) !== sum) return null
  const number = content.readDoubleLE(at + NUMBER_AT)
  return { number, body, end, wasSynced: length >= WAS_SYNCED }
}

/** A batch behind the missing one that was synced, or tables that looked at it, say that it was confirmed. */
function refuseDamage(
  path: string,
  rests: readonly Buffer[],
  { seed, missing, checked }: { seed: number; missing: number; checked: number },
): void {
  const isThere = (number: number): boolean =>
    rests.some((rest) => placesOf(rest, number).some((at) => batchAt(rest, at, seed)?.wasSynced))
  const behind = Array.from({ length: LOOKED_FOR }, (_, n) => missing + 1 + n)
  if (missing > checked && !behind.some(isThere)) return
  const advice =
    `it is of an earlier Fairlead, and batch ${missing} of its log of rows is missing or damaged: what was confirmed in it and ` +
    `behind it is lost; keep copies of it and of ${path}-log-a and -log-b, and bring these back as they were, or go back to the last backup`
  throw unavailable(path, 'damaged', advice, { details: { batch: missing } })
}

/** The places at which a batch of a number may begin. */
function placesOf(rest: Buffer, number: number): number[] {
  const written = Buffer.alloc(8)
  written.writeDoubleLE(number)
  const within = rest.subarray(0, LOOKED_THROUGH_BYTES)
  const places: number[] = []
  for (let at = within.indexOf(written); at >= 0; at = within.indexOf(written, at + 1)) {
    places.push(at - NUMBER_AT)
  }
  return places
}

/** How much of the batch that is due was written. Its end may be zeros, which were there before. */
function tornIn(rest: Buffer, due: number): number {
  if (rest.length < HEAD_BYTES || rest.readDoubleLE(NUMBER_AT) !== due) return 0
  const length = rest.readUInt32LE(0) & ~WAS_SYNCED
  return Math.min(rest.length, HEAD_BYTES + length)
}

function otherFormat(path: string, format: number | undefined): Error {
  const advice =
    `it is of an earlier Fairlead, and its log of rows is of format ${format}, where format ${FORMAT} can be read; ` +
    'start it once with the version that wrote it and stop it in order, then it can be brought forward'
  return unavailable(path, 'older_schema', advice, { details: { version: 4 } })
}
