import { fromHex, toHex } from '@fairlead/core'
import { invariant } from '@fairlead/core/internal'

/** A growable buffer that appends values. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(4_096)
  #length = 0

  byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = value
  }

  /** A whole number from 0 to 2^53 − 1, in groups of seven bits, the lowest first. */
  uint(value: number): void {
    invariant(Number.isSafeInteger(value) && value >= 0, 'a number of a command is a whole one')
    this.#reserve(8)
    let left = value
    while (left >= 0x80) {
      this.#bytes[this.#length++] = (left % 0x80) | 0x80
      left = Math.floor(left / 0x80)
    }
    this.#bytes[this.#length++] = left
  }

  bytes(value: Uint8Array): void {
    this.uint(value.length)
    this.fixed(value)
  }

  /** Without a length prefix. */
  fixed(value: Uint8Array): void {
    this.#reserve(value.length)
    this.#bytes.set(value, this.#length)
    this.#length += value.length
  }

  text(value: string): void {
    const length = Buffer.byteLength(value)
    this.uint(length)
    this.#reserve(length)
    this.#length += this.#bytes.write(value, this.#length)
  }

  /** Text of `0x` and lower-case hex, as the bytes that it stands for. */
  hex(value: string): void {
    const bytes = fromHex(value)
    invariant(bytes !== null, 'an id of a command is hex')
    this.bytes(bytes)
  }

  /** Returns a copy of the written bytes and starts over. */
  done(): Buffer {
    const bytes = Buffer.from(this.#bytes.subarray(0, this.#length))
    this.#length = 0
    return bytes
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

/** Reads values in the order in which they were written. */
export class ByteReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  byte(): number {
    const value = this.#bytes[this.#at++]
    if (value === undefined) throw new RangeError('the bytes of a command end too early')
    return value
  }

  uint(): number {
    let value = 0
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
  }

  /** A copy, so that it can outlive the source buffer. */
  bytes(): Uint8Array {
    return Uint8Array.from(this.fixed(this.uint()))
  }

  fixed(length: number): Buffer {
    const end = this.#at + length
    if (end > this.#bytes.length) throw new RangeError('the bytes of a command end too early')
    const bytes = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return bytes
  }

  text(): string {
    return this.fixed(this.uint()).toString('utf8')
  }

  hex(): string {
    return toHex(this.fixed(this.uint()))
  }
}
