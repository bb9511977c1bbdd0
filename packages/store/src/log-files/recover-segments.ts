import type { FairleadError } from '@fairlead/core'
import { unavailable } from '../unavailable.ts'
import { type Damage, damaged, lostBatches } from './damage.ts'
import { type Disk, fileOf, filesOf } from './disk.ts'
import { type KnownSegment, liveSegments } from './live-segments.ts'
import { claimedRecord, RECORD_HEAD_BYTES } from './record.ts'
import { Segment } from './segment.ts'
import { readHeader, type SegmentHeader } from './segment-header.ts'

export interface RecoveredSegments {
  /** Those with the log, oldest first; empty if there is none. */
  readonly live: readonly Segment[]
  readonly free: readonly Segment[]
  /** Bytes of records that a crash tore, which nobody was told of. They are overwritten. */
  readonly tornBytes: number
}

interface Opened extends KnownSegment {
  readonly segment: Segment
  /** Less than in the header if the file was cut. */
  readonly size: number
}

/**
 * Opens the files of a log, and refuses to if a confirmed batch is lost (LOG-8, LOG-9). Three things know which
 * batches were confirmed: the marks in the headers, the beginnings of later segments, and records behind the lost one.
 * A record that is not whole, and that none of them knows, was never confirmed.
 */
export function recoverSegments(disk: Disk, path: string, storeId: Uint8Array): RecoveredSegments {
  const { numbers, unfinished } = filesOf(disk, path)
  const opened: Opened[] = []
  const headless: string[] = []
  try {
    for (const number of numbers) {
      const one = openSegment(disk, path, { number, storeId })
      if (one === null) headless.push(fileOf(path, number))
      else opened.push(one)
    }
    const { live, free, mark } = liveSegments(opened)
    const damage = headerDamage(headless, live, mark) ?? damageIn(live, free, mark)
    if (damage !== null) throw damaged(path, damage)
    const tornBytes = settleTail(live.at(-1)?.segment ?? null)
    for (const { segment } of live) settleHeader(segment)
    for (const file of unfinished) disk.remove(file)
    const segmentOf = ({ segment }: Opened): Segment => segment
    return { live: live.map(segmentOf), free: free.map(segmentOf), tornBytes }
  } catch (error) {
    for (const { segment } of opened) segment.close()
    throw error
  }
}

/** Null if its header cannot be read. */
function openSegment(
  disk: Disk,
  path: string,
  { number, storeId }: { readonly number: number; readonly storeId: Uint8Array },
): Opened | null {
  const name = fileOf(path, number)
  const file = disk.open(name, 'r+')
  try {
    const read = readHeader(disk, file)
    if (read.kind === 'newer') throw newerFormat(path, name, read.format)
    if (read.kind === 'damaged') {
      disk.close(file)
      return null
    }
    const { header, counter } = read
    if (Buffer.compare(header.storeId, storeId) !== 0) throw otherStore(path, name)
    const size = disk.size(file)
    const segment = new Segment(disk, { path, number, file, header, counter, isZero: false })
    return { segment, header, size, hasRecord: () => segment.scan().next().done !== true }
  } catch (error) {
    disk.close(file)
    throw error
  }
}

function headerDamage(
  [file]: readonly string[],
  live: readonly Opened[],
  mark: number,
): Damage | null {
  if (file === undefined) return null
  const batch = live.length === 0 ? 1 : (damageIn(live, [], mark)?.batch ?? null)
  const loss = batch === null ? '' : `; batch ${batch} and later ones are lost with it`
  return { file, offset: 0, batch, what: `its header cannot be read${loss}` }
}

/** Reads all records: the segments know theirs afterwards. */
function damageIn(live: readonly Opened[], free: readonly Opened[], mark: number): Damage | null {
  let before: Segment | null = null
  for (const [i, one] of live.entries()) {
    const { segment, header } = one
    const file = segment.path
    if (before === null && !header.isStart) return missingFile(file, `before batch ${header.first}`)
    if (before !== null && (header.first !== before.last + 1 || header.chain !== before.lastCrc)) {
      const what = `it does not continue ${before.path}; one of the two is an older or newer copy`
      return { file, offset: header.beginAt, batch: before.last + 1, what }
    }
    if (segment.newest === null) for (const record of segment.scan()) segment.add(record)
    const batch = segment.last + 1
    if (isCut(one)) return cut(one, batch)
    const next = live[i + 1]
    const known =
      next === undefined
        ? segment.later().reduce((newest, { synced }) => Math.max(newest, synced), mark)
        : next.header.first - 1
    const isWhole = batch > known
    if (!isWhole && (next !== undefined || header.next === 0)) {
      return { file, offset: segment.tail, batch, what: lostBatches(batch, Math.max(known, mark)) }
    }
    if (next === undefined && header.next !== 0) {
      return missingFile(file, `from batch ${batch} on`, batch)
    }
    before = segment
  }
  const copy = free.find(
    ({ header }) =>
      header.generation > 0 && live.some((one) => one.header.generation === header.generation),
  )
  if (copy !== undefined) {
    const what = 'it is a copy of another file of the log'
    return { file: copy.segment.path, offset: 0, batch: null, what }
  }
  const cutSpare = free.find(isCut)
  if (cutSpare !== undefined) return cut(cutSpare, null)
  const [spare] = free
  if (live.length > 0 || spare === undefined || mark === 0) return null
  return missingFile(spare.segment.path, `up to batch ${mark}`)
}

/**
 * Overwrites what a crash tore, so that it is found only once. Records that may not be synced are written again: after an
 * error the system may hold them for written though the disk does not have them.
 */
function settleTail(segment: Segment | null): number {
  if (segment === null) return 0
  const { tail, seed, last, header } = segment
  const head = segment.read(tail, Math.min(header.size - tail, RECORD_HEAD_BYTES))
  const claimed = claimedRecord(head, 0, seed)
  const tornBytes = claimed?.batch === last + 1 ? claimed.bytes : 0
  const claimedUntil = Math.min(tail + tornBytes, header.size)
  const tornUntil = segment.later().reduce((until, { end }) => Math.max(until, end), claimedUntil)
  if (tornUntil === tail && header.mark >= last) return 0
  segment.zero(tail, tornUntil)
  segment.rewriteAfter(header.mark)
  segment.sync()
  segment.change({ mark: last })
  return tornUntil - tail
}

/** What it says may not be on the disk: the process before may have died before its sync, or that may have failed. */
function settleHeader(segment: Segment): void {
  segment.change({})
  segment.sync()
}

function isCut({
  header,
  size,
}: {
  readonly header: SegmentHeader
  readonly size: number
}): boolean {
  return size < header.size
}

function cut({ segment, header, size }: Opened, batch: number | null): Damage {
  const loss = batch === null ? '' : `, and batch ${batch} and later ones may be lost`
  const what = `it was cut from ${header.size} to ${size} bytes${loss}`
  return { file: segment.path, offset: size, batch, what }
}

/** `file` is the nearest one that is there. */
function missingFile(file: string, batches: string, batch = 1): Damage {
  return { file, offset: 0, batch, what: `the file of the log ${batches} is missing beside it` }
}

function otherStore(path: string, file: string): FairleadError {
  const advice = `${file} belongs to another store; put each log beside its own store, and move others away`
  return unavailable(path, 'other_store', advice, { details: { file } })
}

function newerFormat(path: string, file: string, format: number): FairleadError {
  const advice = `${file} has format ${format}, which only a newer Fairlead reads; use that version`
  return unavailable(path, 'newer_format', advice, { details: { file, format } })
}
