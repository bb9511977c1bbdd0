import { resolve } from 'node:path'
import type { LogRecord } from '@fairlead/core/internal'
import { lostBatches } from './damage.ts'
import { type Disk, fileOf, filesOf, OS_DISK, readRange } from './disk.ts'
import { type KnownSegment, liveSegments } from './live-segments.ts'
import { type RecordPlace, readRecords, searchRecords } from './read-records.ts'
import { claimedRecord, RECORD_HEAD_BYTES, type RecordSeed, seedOf } from './record.ts'
import { readHeader } from './segment-header.ts'

/** A record of a log, or something that is wrong with it. */
export type LogItem = LogItemRecord | LogFinding

export interface LogItemRecord {
  readonly kind: 'record'
  readonly file: string
  readonly offset: number
  readonly record: LogRecord
}

export interface LogFinding {
  readonly kind: 'finding'
  readonly file: string
  readonly offset: number
  /** The first batch that is concerned; null if no batch is. */
  readonly batch: number | null
  readonly text: string
  /** A confirmed batch is lost, or a file is not whole. Otherwise a crash explains it. */
  readonly isDamage: boolean
}

/** A log that changes while it is read is read again, so often. */
const READ_AGAIN_MAX = 20

/**
 * Reads the log of the store at a path, whoever has it open, and changes nothing. Damage is told as a finding, and reading
 * goes on behind it (LOG-12). While a server appends, the last record is one that was stored after the reading began.
 */
export async function* readLogFiles(
  path: string,
  disk: Disk = OS_DISK,
): AsyncGenerator<LogItem, void> {
  let after = -1
  for (let again = 0; ; again++) {
    const files = openFiles(disk, resolve(path))
    try {
      if (again === 0) yield* files.findings
      let hasChanged = false
      for (const item of itemsOf(files.segments)) {
        if (item.kind === 'record') {
          if (item.record.batch <= after) continue
          after = item.record.batch
        } else if (item.isDamage && again < READ_AGAIN_MAX) {
          // The place may have been trimmed since its header was read.
          hasChanged = usesOf(files.segments) !== usesNow(disk, resolve(path))
          if (hasChanged) break
        }
        yield item
      }
      if (!hasChanged) return
    } finally {
      files.close()
    }
  }
}

interface ReadSegment extends KnownSegment {
  readonly file: string
  readonly seed: RecordSeed
  readonly read: (at: number, bytes: number) => Buffer
}

/** All records of the log, and what is between them that should not be. */
function* itemsOf(segments: readonly ReadSegment[]): Generator<LogItem, void> {
  const { live, mark } = liveSegments(segments)
  let due: RecordPlace | null = null
  for (const [i, { file, seed, read, header }] of live.entries()) {
    const lost = (offset: number, batch: number, text: string): LogFinding => {
      return { kind: 'finding', file, offset, batch, text, isDamage: true }
    }
    const next = live[i + 1]?.header
    const { first, beginAt, chain, size } = header
    if (due === null && !header.isStart)
      yield lost(0, 1, `the file before batch ${first} is missing`)
    if (due !== null && (due.batch !== first || due.chain !== chain)) {
      yield lost(beginAt, due.batch, 'it does not continue the file before it')
    }
    let from: RecordPlace = { batch: first, at: beginAt, chain }
    for (;;) {
      for (const found of readRecords(read, { seed, from, until: size })) {
        const { batch, digest, body, at, end, crc } = found
        const record = { batch, digest, body: new Uint8Array(body) }
        yield { kind: 'record', file, offset: at, record }
        from = { batch: batch + 1, at: end, chain: crc }
      }
      const later = [...searchRecords(read, { seed, from: from.at, until: size })]
      const atLeast = Math.max(mark, (next?.first ?? 0) - 1)
      const known = later.reduce((newest, { synced }) => Math.max(newest, synced), atLeast)
      const resume = later.find(({ batch }) => batch >= from.batch)
      // It was appended since the end was reached.
      if (resume?.at === from.at && resume.batch === from.batch && resume.chain === from.chain) {
        continue
      }
      const isWhole = from.batch > known || from.batch === next?.first
      if (isWhole || (resume === undefined && header.next !== 0 && next === undefined)) break
      const until = resume === undefined ? (next?.first ?? known + 1) : resume.batch
      yield lost(from.at, from.batch, lostBatches(from.batch, until - 1))
      if (resume === undefined) {
        from = { batch: until, at: from.at, chain: next?.chain ?? 0 }
        break
      }
      from = resume
    }
    due = from
    if (next !== undefined) continue
    if (header.next !== 0)
      yield lost(0, from.batch, `the file from batch ${from.batch} on is missing`)
    const claimed = claimedRecord(read(from.at, RECORD_HEAD_BYTES), 0, seed)
    if (claimed?.batch !== from.batch) continue
    const text = `batch ${from.batch} was torn by a crash or is being written; it was not confirmed`
    yield { kind: 'finding', file, offset: from.at, batch: from.batch, text, isDamage: false }
  }
}

function openFiles(disk: Disk, path: string) {
  const segments: ReadSegment[] = []
  const findings: LogFinding[] = []
  const opened: number[] = []
  for (const number of filesOf(disk, path).numbers) {
    const name = fileOf(path, number)
    const file = openIfThere(disk, name)
    if (file === null) continue
    opened.push(file)
    const find = (text: string, isDamage = true): void => {
      findings.push({ kind: 'finding', file: name, offset: 0, batch: null, text, isDamage })
    }
    const found = readHeader(disk, file)
    if (found.kind === 'newer') find(`it has format ${found.format}, of a newer Fairlead`)
    if (found.kind === 'damaged') find('its header cannot be read')
    if (found.kind !== 'whole') continue
    const { header, isTwice } = found
    const { generation, first, beginAt, chain } = header
    if (!isTwice && generation > 0) find('one of the two copies of its header is not whole', false)
    const size = disk.size(file)
    if (size < header.size) find(`it was cut from ${header.size} to ${size} bytes`)
    const seed = seedOf(header.storeId, generation)
    const read = (at: number, bytes: number): Buffer => readRange(disk, file, at, bytes)
    const from = { batch: first, at: beginAt, chain }
    const hasRecord = (): boolean =>
      readRecords(read, { seed, from, until: header.size }).next().done !== true
    segments.push({ file: name, header, seed, read, hasRecord })
  }
  const close = (): void => {
    for (const file of opened) disk.close(file)
  }
  return { segments, findings, close }
}

function openIfThere(disk: Disk, name: string): number | null {
  try {
    return disk.open(name, 'r')
  } catch (error) {
    // A surplus file that the server removed just now.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function usesNow(disk: Disk, path: string): string {
  const files = openFiles(disk, path)
  try {
    return usesOf(files.segments)
  } finally {
    files.close()
  }
}

/** Changes with a trim, a new segment and a removed one. */
function usesOf(segments: readonly ReadSegment[]): string {
  return JSON.stringify(
    segments.map(({ file, header }) => [file, header.generation, header.first, header.next]),
  )
}
