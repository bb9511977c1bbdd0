import { crc32 } from 'node:zlib'
import type { AuditRecord } from '@fairlead/core'
import { appendAuditBytes, invariant, writeHex } from '@fairlead/core/internal'
import type { SqlValue } from '../driver.ts'

/**
 * The form in which rows travel between threads: their cells one after the other in one buffer, each behind a byte
 * that tells its type. A structured clone of the same rows takes ten times as long.
 */
const TAG = { null: 0, byte: 1, u32: 2, double: 3, shortText: 4, text: 5, bytes: 6, id: 7 } as const

const START_BYTES = 65_536
/** From so many bytes on, they are handed over with the memory that they were written to. */
const MUCH_BYTES = 4 * 1_048_576
const ID_BYTES = 32

export class CellWriter {
  #buffer = Buffer.allocUnsafeSlow(START_BYTES)
  /** Of the same memory: numbers are written by it in a third of the time. */
  #view = viewOf(this.#buffer)
  #at = 0

  /** Discards what a failed call left behind. */
  start(): void {
    this.#at = 0
  }

  /** The number of bytes so far. */
  get length(): number {
    return this.#at
  }

  /** The bytes of a journal entry that its hash covers, as a cell of bytes. */
  record(seq: number, record: AuditRecord): void {
    const at = this.#tag(TAG.bytes, 4)
    const { buffer, end } = appendAuditBytes(seq, record, this.#buffer, at + 4)
    if (buffer !== this.#buffer) this.#use(buffer)
    this.#view.setUint32(at, end - at - 4, true)
    this.#at = end
  }

  null(): void {
    this.#tag(TAG.null, 0)
  }

  number(n: number): void {
    const at = this.#tag(TAG.double, 8)
    if (n >= 0 && n <= 0xff && !Object.is(n, -0) && Number.isInteger(n)) {
      this.#buffer[at - 1] = TAG.byte
      this.#buffer[at] = n
      this.#at = at + 1
    } else if (n >= 0 && n <= 0xffff_ffff && !Object.is(n, -0) && Number.isInteger(n)) {
      this.#buffer[at - 1] = TAG.u32
      this.#view.setUint32(at, n, true)
      this.#at = at + 4
    } else {
      this.#view.setFloat64(at, n, true)
      this.#at = at + 8
    }
  }

  /** Text that contains U+0000 becomes bytes, because a driver may cut text there. */
  text(text: string): void {
    const at = this.#tag(TAG.text, 4 + 3 * text.length)
    if (text.length < 0x40) {
      const bytes = this.#shortText(text, at + 1)
      if (bytes !== null) {
        this.#buffer[at - 1] = TAG.shortText
        this.#buffer[at] = bytes
        this.#at = at + 1 + bytes
        return
      }
    }
    const bytes = this.#buffer.write(text, at + 4, 'utf8')
    if (text.includes('\0')) this.#buffer[at - 1] = TAG.bytes
    this.#view.setUint32(at, bytes, true)
    this.#at = at + 4 + bytes
  }

  /** Words and names are short and ASCII: a native call costs more than the loop. Null for other text. */
  #shortText(text: string, at: number): number | null {
    const buffer = this.#buffer
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code > 0x7f || code === 0) return null
      buffer[at + i] = code
    }
    return text.length
  }

  bytes(bytes: Uint8Array): void {
    const at = this.#tag(TAG.bytes, 4 + bytes.length)
    this.#view.setUint32(at, bytes.length, true)
    this.#buffer.set(bytes, at + 4)
    this.#at = at + 4 + bytes.length
  }

  idBytes(id: Uint8Array): void {
    invariant(id.length === ID_BYTES, 'an id or hash is 32 bytes')
    const at = this.#tag(TAG.id, ID_BYTES)
    this.#buffer.set(id, at)
    this.#at = at + ID_BYTES
  }

  /** An id or hash: 0x and 64 hex digits, as its 32 bytes. */
  id(hex: string): void {
    const at = this.#tag(TAG.id, ID_BYTES)
    const isWritten = hex.length === 2 + 2 * ID_BYTES && writeHex(hex, this.#buffer, at)
    invariant(isWritten, 'an id or hash is 0x and 64 lower-case hex digits')
    this.#at = at + ID_BYTES
  }

  cell(value: SqlValue): void {
    if (value === null) this.null()
    else if (typeof value === 'number') this.number(value)
    else if (typeof value === 'string') this.text(value)
    else this.bytes(value)
  }

  /** The CRC32 of the bytes from a place on, continued from a seed; signed, as SQLite stores it in four bytes. */
  sum(from: number, seed: number): number {
    return crc32(this.#buffer.subarray(from, this.#at), seed) | 0
  }

  /** All cells so far, in memory of their own that can be handed to another thread. */
  finish(): Uint8Array {
    if (this.#at > MUCH_BYTES) {
      // A copy of it would hold the caller for long.
      const whole = this.#buffer.subarray(0, this.#at)
      this.#at = 0
      this.#use(Buffer.allocUnsafeSlow(START_BYTES))
      return whole
    }
    const bytes = Buffer.allocUnsafeSlow(this.#at)
    this.#buffer.copy(bytes, 0, 0, this.#at)
    this.clear()
    return bytes
  }

  /** Discards all cells, and memory beyond what most calls need. */
  clear(): void {
    this.#at = 0
    if (this.#buffer.length > 64 * START_BYTES) this.#use(Buffer.allocUnsafeSlow(START_BYTES))
  }

  #grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(length)
    this.#buffer.copy(larger, 0, 0, this.#at)
    this.#use(larger)
  }

  #use(buffer: Buffer<ArrayBuffer>): void {
    this.#buffer = buffer
    this.#view = viewOf(buffer)
  }

  /** Makes room for so many more bytes at once. */
  reserve(bytes: number): void {
    if (this.#at + bytes > this.#buffer.length) this.#grow(this.#at + bytes)
  }

  /** Writes a tag and makes room behind it. Returns the place of its value. */
  #tag(tag: number, room: number): number {
    const at = this.#at
    if (at + 1 + room > this.#buffer.length) {
      this.#grow(2 * (at + 1 + room))
    }
    this.#buffer[at] = tag
    this.#at = at + 1
    return at + 1
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

/** Reads cells one after the other. Bytes are views of the buffer. */
export class CellReader {
  readonly #buffer: Buffer
  #at = 0

  constructor({ buffer, byteOffset, length }: Uint8Array) {
    this.#buffer = Buffer.from(buffer, byteOffset, length)
  }

  get at(): number {
    return this.#at
  }

  /** The same of the bytes from a place to the next cell. */
  sum(from: number, seed: number): number {
    return crc32(this.#buffer.subarray(from, this.#at), seed) | 0
  }

  number(): number {
    return this.cell() as number
  }

  cell(): SqlValue {
    const buffer = this.#buffer
    const tag = buffer[this.#at++] as number
    const at = this.#at
    switch (tag) {
      case TAG.null:
        return null
      case TAG.byte:
        this.#at = at + 1
        return buffer[at] as number
      case TAG.u32:
        this.#at = at + 4
        return buffer.readUInt32LE(at)
      case TAG.double:
        this.#at = at + 8
        return buffer.readDoubleLE(at)
      case TAG.shortText:
        this.#at = at + 1 + (buffer[at] as number)
        return buffer.toString('latin1', at + 1, this.#at)
      case TAG.text:
        this.#at = at + 4 + buffer.readUInt32LE(at)
        return buffer.toString('utf8', at + 4, this.#at)
      case TAG.bytes:
        this.#at = at + 4 + buffer.readUInt32LE(at)
        return buffer.subarray(at + 4, this.#at)
      default:
        invariant(tag === TAG.id, 'cells are read as they were written')
        this.#at = at + ID_BYTES
        return buffer.subarray(at, this.#at)
    }
  }

  /** The next cells. */
  cells(count: number): SqlValue[] {
    const list: SqlValue[] = []
    this.cellsTo(list, count)
    return list
  }

  /** Adds the next cells to a list. */
  cellsTo(list: SqlValue[], count: number): void {
    for (let i = 0; i < count; i++) list.push(this.cell())
  }
}
