import { crc32 } from 'node:zlib'
import { type Disk, readRange, writeAll } from './disk.ts'

/**
 * The header of a segment is written in turn to two places in different blocks. The newest whole one counts, so that a
 * write that was torn leaves the one before it.
 */
export interface SegmentHeader {
  readonly storeId: Uint8Array
  /** Counts the uses of all segments of the log. 0: this one was never used. */
  readonly generation: number
  readonly size: number
  /** The number of the oldest record that was not trimmed, or of the next record if there is none. */
  readonly first: number
  /** Where that record begins. */
  readonly beginAt: number
  /** The checksum of the record before it. */
  readonly chain: number
  /** The log begins here: older segments have only trimmed records, or those of an earlier use. */
  readonly isStart: boolean
  /** The newest batch of the log that was known to be synced. */
  readonly mark: number
  /** The generation of the segment that continues the log; 0 if this is the last. */
  readonly next: number
}

/** Records begin behind the two places. */
export const HEADER_BYTES = 8_192
const SLOTS = [0, 4_096] as const
const SLOT_BYTES = 128
const MAGIC = Buffer.from('FLEADLOG')
const FORMAT = 1
// biome-ignore format: a table
const AT = {
  magic: 0, crc: 8, format: 12, storeId: 16, counter: 32, generation: 40, size: 48, first: 56, beginAt: 64, mark: 72,
  next: 80, chain: 88, isStart: 92,
}
export const STORE_ID_BYTES = 16

/** The header of a new file. */
export function unusedHeader(storeId: Uint8Array, size: number): SegmentHeader {
  return {
    storeId,
    generation: 0,
    size,
    first: 1,
    beginAt: HEADER_BYTES,
    chain: 0,
    isStart: false,
    mark: 0,
    next: 0,
  }
}

/** Its place is the slot that `counter` gives. */
export function writeHeader(
  disk: Disk,
  file: number,
  { header, counter }: { readonly header: SegmentHeader; readonly counter: number },
): void {
  const slot = Buffer.alloc(SLOT_BYTES)
  slot.set(MAGIC, AT.magic)
  slot.writeUInt32LE(FORMAT, AT.format)
  slot.set(header.storeId, AT.storeId)
  slot.writeUIntLE(counter, AT.counter, 6)
  for (const field of ['generation', 'size', 'first', 'beginAt', 'mark', 'next'] as const) {
    slot.writeUIntLE(header[field], AT[field], 6)
  }
  slot.writeUInt32LE(header.chain, AT.chain)
  slot.writeUInt32LE(header.isStart ? 1 : 0, AT.isStart)
  slot.writeUInt32LE(crc32(slot.subarray(AT.format)), AT.crc)
  writeAll(disk, file, [slot], SLOTS[counter % 2 === 0 ? 0 : 1])
}

export type ReadHeader =
  | {
      readonly kind: 'whole'
      readonly header: SegmentHeader
      readonly counter: number
      /** Both places hold a whole header. One that does not may be a torn write, or damaged. */
      readonly isTwice: boolean
    }
  | { readonly kind: 'newer'; readonly format: number }
  | { readonly kind: 'damaged' }

export function readHeader(disk: Disk, file: number): ReadHeader {
  const slots = SLOTS.map((at) => readSlot(readRange(disk, file, at, SLOT_BYTES)))
  const newer = slots.find((slot) => slot?.kind === 'newer')
  if (newer !== undefined && newer !== null) return newer
  const whole = slots.filter((slot) => slot?.kind === 'whole').sort((a, b) => b.counter - a.counter)
  const [newest] = whole
  if (newest === undefined) return { kind: 'damaged' }
  return { ...newest, isTwice: whole.length === SLOTS.length }
}

type Slot =
  | { readonly kind: 'whole'; readonly header: SegmentHeader; readonly counter: number }
  | { readonly kind: 'newer'; readonly format: number }

function readSlot(slot: Buffer): Slot | null {
  if (slot.length < SLOT_BYTES || !slot.subarray(0, MAGIC.length).equals(MAGIC)) return null
  if (slot.readUInt32LE(AT.crc) !== crc32(slot.subarray(AT.format))) return null
  const format = slot.readUInt32LE(AT.format)
  if (format > FORMAT) return { kind: 'newer', format }
  const number = (field: 'generation' | 'size' | 'first' | 'beginAt' | 'mark' | 'next') =>
    slot.readUIntLE(AT[field], 6)
  const header: SegmentHeader = {
    storeId: Uint8Array.from(slot.subarray(AT.storeId, AT.storeId + STORE_ID_BYTES)),
    generation: number('generation'),
    size: number('size'),
    first: number('first'),
    beginAt: number('beginAt'),
    chain: slot.readUInt32LE(AT.chain),
    isStart: slot.readUInt32LE(AT.isStart) === 1,
    mark: number('mark'),
    next: number('next'),
  }
  return { kind: 'whole', header, counter: slot.readUIntLE(AT.counter, 6) }
}
