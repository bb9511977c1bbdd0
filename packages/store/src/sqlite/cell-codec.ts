import type { AuditRecord } from '@fairlead/core'
import { appendAuditBytes, invariant, writeHex } from '@fairlead/core/internal'
import type { SqlValue } from './driver.ts'

/**
 * How cells travel to the thread of the store and lie in its log: one after the other in one buffer,
 * each behind a byte that tells its type. A structured clone of the same rows takes ten times as long.
 */
const TAG = { null: 0, byte: 1, u32: 2, double: 3, shortText: 4, text: 5, bytes: 6, id: 7 } as const

const START_BYTES = 65_536
const ID_BYTES = 32
const NO_ID = { hex: '', at: 0 }

export class CellWriter {
  #buffer = Buffer.allocUnsafeSlow(START_BYTES)
  /** Of the same memory: numbers are written by it in a third of the time. */
  #view = viewOf(this.#buffer)
  #at = 0
  #alike = NO_ID

  /** Bytes so far. */
  get length(): number {
    return this.#at
  }

  /** Forgets what another one began and did not finish. */
  start(): void {
    this.#at = 0
    this.#alike = NO_ID
  }

  /** Begins a row, whose length will stand before it; returns where. */
  openRow(): number {
    const at = this.#room(4)
    this.#at = at + 4
    return at
  }

  closeRow(at: number): void {
    this.#view.setUint32(at, this.#at - at - 4, true)
  }

  /** Without a tag, as the fields at fixed places of a row are. */
  rawByte(n: number): void {
    const at = this.#room(1)
    this.#buffer[at] = n
    this.#at = at + 1
  }

  rawUint32(n: number): void {
    const at = this.#room(4)
    this.#view.setUint32(at, n, true)
    this.#at = at + 4
  }

  rawDouble(n: number): void {
    const at = this.#room(8)
    this.#view.setFloat64(at, n, true)
    this.#at = at + 8
  }

  /** Returns where it stands. */
  rawId(hex: string): number {
    const at = this.#room(ID_BYTES)
    this.#writeId(hex, at)
    return at
  }

  rawIdBytes(id: Uint8Array): void {
    const at = this.#room(ID_BYTES)
    invariant(id.length === ID_BYTES, 'an id or hash is 32 bytes')
    this.#buffer.set(id, at)
    this.#at = at + ID_BYTES
  }

  /** The id that stands at a place once more, for a third of what it costs to read its digits again. */
  rawIdAt(place: number): void {
    const at = this.#room(ID_BYTES)
    this.#buffer.copyWithin(at, place, place + ID_BYTES)
    this.#at = at + ID_BYTES
  }

  /** An id that mostly is the same as the last one that was written so. */
  rawIdAlike(hex: string): void {
    if (hex === this.#alike.hex) this.rawIdAt(this.#alike.at)
    else this.#alike = { hex, at: this.rawId(hex) }
  }

  /** Bytes behind their length. */
  rawBytes(bytes: Uint8Array): void {
    const at = this.#room(4 + bytes.length)
    this.#view.setUint32(at, bytes.length, true)
    this.#buffer.set(bytes, at + 4)
    this.#at = at + 4 + bytes.length
  }

  /** What is hashed of an entry of the journal, behind its length. */
  record(seq: number, record: AuditRecord): void {
    const at = this.openRow()
    const { buffer, end } = appendAuditBytes(seq, record, this.#buffer, this.#at)
    if (buffer !== this.#buffer) this.#use(buffer)
    this.#at = end
    this.closeRow(at)
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

  text(text: string): void {
    const at = this.#tag(TAG.text, 4 + 3 * text.length)
    if (text.length < 0x40) {
      const bytes = this.#shortText(text, at + 1)
      this.#buffer[at - 1] = TAG.shortText
      this.#buffer[at] = bytes
      this.#at = at + 1 + bytes
    } else {
      const bytes = this.#buffer.write(text, at + 4, 'utf8')
      this.#view.setUint32(at, bytes, true)
      this.#at = at + 4 + bytes
    }
  }

  /** Words and names are short and ASCII: a native call costs more than the loop. */
  #shortText(text: string, at: number): number {
    const buffer = this.#buffer
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code > 0x7f) return buffer.write(text, at, 'utf8')
      buffer[at + i] = code
    }
    return text.length
  }

  bytes(bytes: Uint8Array): void {
    this.#tag(TAG.bytes, 4 + bytes.length)
    this.rawBytes(bytes)
  }

  /** An id or hash: 0x and 64 hex digits, as its 32 bytes. */
  id(hex: string): void {
    this.#writeId(hex, this.#tag(TAG.id, ID_BYTES))
  }

  cell(value: SqlValue): void {
    if (value === null) this.null()
    else if (typeof value === 'number') this.number(value)
    else if (typeof value === 'string') this.text(value)
    else this.bytes(value)
  }

  /** All cells so far, in memory of their own that can be handed to another thread. */
  finish(): Uint8Array {
    const bytes = Buffer.allocUnsafeSlow(this.#at)
    this.#buffer.copy(bytes, 0, 0, this.#at)
    this.#at = 0
    if (this.#buffer.length > 64 * START_BYTES) this.#use(Buffer.allocUnsafeSlow(START_BYTES))
    return bytes
  }

  #use(buffer: Buffer<ArrayBuffer>): void {
    this.#buffer = buffer
    this.#view = viewOf(buffer)
  }

  #writeId(hex: string, at: number): void {
    const isWritten = hex.length === 2 + 2 * ID_BYTES && writeHex(hex, this.#buffer, at)
    invariant(isWritten, 'an id or hash is 0x and 64 lower-case hex digits')
    this.#at = at + ID_BYTES
  }

  /** Writes a tag and makes room behind it; returns where its value begins. */
  #tag(tag: number, room: number): number {
    const at = this.#room(1 + room)
    this.#buffer[at] = tag
    this.#at = at + 1
    return this.#at
  }

  #room(bytes: number): number {
    if (this.#at + bytes > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (this.#at + bytes))
      this.#buffer.copy(larger, 0, 0, this.#at)
      this.#use(larger)
    }
    return this.#at
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

/** Reads cells from a place in a buffer on; bytes are views of it. */
export class CellReader {
  #buffer: Buffer = Buffer.alloc(0)
  #at = 0

  /** Goes to a place. */
  seek(buffer: Buffer, at: number): this {
    this.#buffer = buffer
    this.#at = at
    return this
  }

  /** Where the next cell is. */
  get at(): number {
    return this.#at
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
        return buffer.toString('utf8', at + 1, this.#at)
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

  /** Adds the next cells to a list. */
  cellsTo(list: SqlValue[], count: number): void {
    for (let i = 0; i < count; i++) list.push(this.cell())
  }
}
