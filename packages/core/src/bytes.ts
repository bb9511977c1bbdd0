/** Bytes, their `0x` form, and the orders that ids and keys are sorted in. */

const HEX = /^0x(?:[0-9a-f]{2})*$/

/** `0x` and lower-case hex, the one JSON form of bytes. */
export function toHex(bytes: Uint8Array): string {
  return `0x${asBuffer(bytes).toString('hex')}`
}

/** The bytes of a `0x` lower-case hex text, or null if it is anything else. */
export function fromHex(text: string): Uint8Array | null {
  return HEX.test(text) ? Buffer.from(text.slice(2), 'hex') : null
}

export function utf8(text: string): Uint8Array {
  return Buffer.from(text, 'utf8')
}

export function utf8Length(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

/** For `sort`: ids and other ASCII text, where UTF-16 order is byte order. */
export function compareAscii(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** For `sort`: any text by its UTF-8 bytes, which differs from UTF-16 order beyond U+FFFF. */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8'))
}

/** A view of the same memory with Buffer's fast methods. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
