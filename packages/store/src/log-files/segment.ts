import type { LogRecord } from '@fairlead/core/internal'
import { type Disk, fileOf, readRange, writeAll, writeZeros } from './disk.ts'
import { type RecordPlace, readRecords, searchRecords } from './read-records.ts'
import { encodeRecord, type FoundRecord, type RecordSeed, recordBytes, seedOf } from './record.ts'
import { HEADER_BYTES, type SegmentHeader, unusedHeader, writeHeader } from './segment-header.ts'

/** The distance of records whose places are kept. */
const PLACE_BYTES = 65_536
/** Rewritten at a time. */
const PIECE_BYTES = 65_536
/** Overwritten at a time, between two appends. */
const SCRUB_BYTES = 1_048_576

/** One file of a log, and the records that it has since it was last put to use. */
export class Segment {
  readonly number: number
  readonly path: string
  readonly #disk: Disk
  #file: number | null
  #header: SegmentHeader
  #counter: number
  #seed: RecordSeed
  /** Places of some records, oldest first, beginning with the oldest that was not trimmed. */
  #places: RecordPlace[] = []
  #newest: FoundRecord | null = null
  #tail: number
  /** Bytes between the header and here are zero, and so are all from there on. */
  #zeroUntil = HEADER_BYTES
  #zeroFrom: number

  /** `file` is open for writing and has this header; the records in it are not known yet. */
  constructor(
    disk: Disk,
    options: {
      readonly path: string
      readonly number: number
      readonly file: number
      readonly header: SegmentHeader
      readonly counter: number
      readonly isZero: boolean
    },
  ) {
    const { path, number, file, header, counter, isZero } = options
    this.number = number
    this.path = fileOf(path, number)
    this.#disk = disk
    this.#file = file
    this.#header = header
    this.#counter = counter
    this.#seed = seedOf(header.storeId, header.generation)
    this.#tail = header.beginAt
    this.#zeroFrom = isZero ? HEADER_BYTES : header.size
    this.#forget()
  }

  /** A new file, full of zeros: to write over blocks that exist needs no change of the file system at each sync. */
  static create(
    disk: Disk,
    path: string,
    { number, storeId, size }: { number: number; storeId: Uint8Array; size: number },
  ): Segment {
    const target = fileOf(path, number)
    const unfinished = `${target}.new`
    disk.remove(unfinished)
    const file = disk.create(unfinished)
    try {
      writeZeros(disk, file, 0, size)
      const header = unusedHeader(storeId, size)
      writeHeader(disk, file, { header, counter: 0 })
      disk.sync(file)
      disk.rename(unfinished, target)
      disk.syncFolder(target)
      return new Segment(disk, { path, number, file, header, counter: 0, isZero: true })
    } catch (error) {
      disk.close(file)
      // Under either name: nobody knows of it, and the next try makes another.
      for (const name of [unfinished, target]) disk.remove(name)
      throw error
    }
  }

  get header(): SegmentHeader {
    return this.#header
  }

  get seed(): RecordSeed {
    return this.#seed
  }

  /** Where the next record goes. */
  get tail(): number {
    return this.#tail
  }

  /** The newest record that was not trimmed; null if there is none. */
  get newest(): FoundRecord | null {
    return this.#newest
  }

  /** The number of the newest record, if need be a trimmed one. */
  get last(): number {
    return this.#newest?.batch ?? this.#header.first - 1
  }

  /** The checksum of that record. */
  get lastCrc(): number {
    return this.#newest?.crc ?? this.#header.chain
  }

  hasRoom(bytes: number): boolean {
    return this.#tail + bytes <= this.#header.size
  }

  /** A record that is in the file. */
  add(record: FoundRecord): void {
    const previous = this.#places.at(-1)
    if (previous === undefined || record.at - previous.at >= PLACE_BYTES) {
      this.#places.push({ batch: record.batch, at: record.at, chain: record.chain })
    }
    // Its body stays on the disk.
    this.#newest = { ...record, body: new Uint8Array() }
    this.#tail = record.end
    this.#zeroFrom = Math.max(this.#zeroFrom, record.end)
  }

  /** Writes records behind the last, without a sync. `add` them when they are confirmed. */
  write(records: readonly LogRecord[], synced: number): FoundRecord[] {
    const found: FoundRecord[] = []
    const buffers: Uint8Array[] = []
    let at = this.#tail
    let chain = this.lastCrc
    for (const record of records) {
      const encoded = encodeRecord(record, { seed: this.#seed, chain, synced })
      for (const buffer of encoded.buffers) if (buffer.length > 0) buffers.push(buffer)
      const end = at + recordBytes(record)
      found.push({ ...record, crc: encoded.crc, chain, synced, at, end })
      at = end
      chain = encoded.crc
    }
    this.#zeroFrom = Math.max(this.#zeroFrom, at)
    writeAll(this.#disk, this.#open(), buffers, this.#tail)
    return found
  }

  sync(): void {
    this.#disk.sync(this.#open())
  }

  /** Changes the header, without a sync. */
  change(changes: Partial<SegmentHeader>): void {
    const header = { ...this.#header, ...changes }
    // If this fails, the next change goes to the same place, and the other one stays whole.
    writeHeader(this.#disk, this.#open(), { header, counter: this.#counter + 1 })
    this.#counter++
    const isNewUse = header.generation !== this.#header.generation
    this.#header = header
    if (!isNewUse) return
    this.#seed = seedOf(header.storeId, header.generation)
    this.#tail = header.beginAt
    this.#zeroUntil = HEADER_BYTES
    this.#newest = null
    this.#forget()
  }

  /** Trims the records up to a batch that it has, without a sync. */
  trim(upTo: number, mark: number): void {
    const { at, chain } = this.#placeOf(upTo + 1)
    this.change({ first: upTo + 1, beginAt: at, chain, isStart: true, mark })
    if (this.#newest !== null && this.#newest.batch <= upTo) this.#newest = null
    this.#forget()
  }

  /** The records after a batch, verified. Ends early where one is damaged. */
  *records(after: number): Generator<FoundRecord, void> {
    for (const record of this.#recordsFrom(this.#nearest(after + 1))) {
      if (record.batch > after) yield record
    }
  }

  /** Where the record after a batch that it has begins. */
  placeAfter(batch: number): number {
    let at = this.#nearest(batch + 1).at
    for (const record of this.#recordsFrom(this.#nearest(batch + 1))) {
      if (record.batch > batch) break
      at = record.end
    }
    return at
  }

  /** All whole records that follow each other in the file, whatever was known of it. */
  scan(): Generator<FoundRecord, void> {
    return this.#recordsFrom(this.#begin(), this.#header.size)
  }

  /** Whole records behind the last that the segment knows. */
  later(): FoundRecord[] {
    const range = { seed: this.#seed, from: this.#tail, until: this.#header.size }
    return [...searchRecords((at, bytes) => this.read(at, bytes), range)]
  }

  read(at: number, bytes: number): Buffer {
    return readRange(this.#disk, this.#open(), at, bytes)
  }

  /** Writes the records after a batch once more, so that the system holds them for unwritten. */
  rewriteAfter(batch: number): void {
    const [first] = this.records(batch)
    if (first === undefined) return
    for (let { at } = first; at < this.#tail; at += PIECE_BYTES) {
      const content = this.read(at, Math.min(PIECE_BYTES, this.#tail - at))
      writeAll(this.#disk, this.#open(), [content], at)
    }
  }

  zero(from: number, until: number): void {
    writeZeros(this.#disk, this.#open(), from, until)
  }

  /**
   * Overwrites some bytes that belong to no record, durably; of a free segment, all may. Returns false if nothing is left
   * to overwrite.
   */
  scrubSome({ isFree }: { readonly isFree: boolean }): boolean {
    const tail = isFree ? HEADER_BYTES : this.#tail
    if (this.#zeroFrom > tail) {
      const from = Math.max(tail, this.#zeroFrom - SCRUB_BYTES)
      this.zero(from, this.#zeroFrom)
      this.sync()
      this.#zeroFrom = from
      return true
    }
    const { beginAt } = this.#header
    if (isFree || this.#zeroUntil >= beginAt) return false
    const until = Math.min(beginAt, this.#zeroUntil + SCRUB_BYTES)
    this.zero(this.#zeroUntil, until)
    this.sync()
    this.#zeroUntil = until
    return true
  }

  /** Removes its file. After an error the file is still there. */
  remove(): void {
    this.close()
    this.#disk.remove(this.path)
    try {
      this.#disk.syncFolder(this.path)
    } catch {
      // If a power cut brings the file back, it is a free one.
    }
  }

  /** After an error: what the system holds of the file may differ from the disk, so it begins anew. */
  reopen(): void {
    this.close()
    this.#file = this.#disk.open(this.path, 'r+')
  }

  close(): void {
    const file = this.#file
    this.#file = null
    if (file !== null) this.#disk.close(file)
  }

  #open(): number {
    this.#file ??= this.#disk.open(this.path, 'r+')
    return this.#file
  }

  #begin(): RecordPlace {
    const { first, beginAt, chain } = this.#header
    return { batch: first, at: beginAt, chain }
  }

  #nearest(batch: number): RecordPlace {
    return this.#places.findLast((place) => place.batch <= batch) ?? this.#begin()
  }

  /** Drops the places of trimmed records. */
  #forget(): void {
    const begin = this.#begin()
    this.#places = [begin, ...this.#places.filter(({ batch }) => batch > begin.batch)]
  }

  #placeOf(batch: number): RecordPlace {
    if (batch > this.last) return { batch, at: this.#tail, chain: this.lastCrc }
    for (const record of this.records(batch - 1)) return record
    throw new Error(`batch ${batch} of ${this.path} cannot be read`)
  }

  #recordsFrom(from: RecordPlace, until = this.#tail): Generator<FoundRecord, void> {
    return readRecords((at, bytes) => this.read(at, bytes), { seed: this.#seed, from, until })
  }
}
