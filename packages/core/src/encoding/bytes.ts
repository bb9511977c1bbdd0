/** Bytes, their `0x` form, and the sort order of ids and keys. */

/** `0x` and lower-case hex, the one JSON form of bytes. */
export function toHex(bytes: Uint8Array): string {
  return `0x${asBuffer(bytes).toString('hex')}`
}

/** The bytes of a `0x` lower-case hex text, or null if it is anything else. */
export function fromHex(text: string): Uint8Array | null {
  const bytes = Buffer.allocUnsafe(hexLength(text))
  return writeHex(text, bytes, 0) ? bytes : null
}

/** The number of bytes that a `0x` hex text stands for, if it is one. */
export function hexLength(text: string): number {
  return Math.max(0, (text.length >> 1) - 1)
}

/**
 * Writes the bytes of a `0x` lower-case hex text; false if it is anything else. A table looks up two digits at a
 * time, which checks and converts in one step: a prompt of a kibibyte has 2,048 digits.
 */
export function writeHex(text: string, out: Uint8Array, at: number): boolean {
  const { length } = text
  if (length % 2 !== 0 || !text.startsWith('0x')) return false
  // Replaced after a huge text, so that its memory is not kept for ever.
  if (digits.length < length || digits.length > Math.max(DIGITS_KEPT, 2 * length)) {
    ;({ digits, pairs } = makeDigits(Math.max(DIGITS_START, 2 * length)))
  }
  // A text beyond ASCII takes more bytes than it has characters.
  if (digits.write(text, 0, 'utf8') !== length) return false
  let wrong = 0
  for (let pair = 1, to = at; pair < length >> 1; pair++, to++) {
    const byte = BYTE_OF[pairs[pair] as number] as number
    wrong |= byte
    out[to] = byte
  }
  return wrong >= 0
}

/** True if the text is 32 bytes as `0x` lower-case hex. */
export function isHex32(text: unknown): text is string {
  if (typeof text !== 'string') return false
  if (text === lastHex32) return true
  if (hexLength(text) !== checked.length || !writeHex(text, checked, 0)) return false
  lastHex32 = text
  return true
}

const checked = Buffer.alloc(32)
/** Cached, because many jobs have the same digest in a row: that of empty output. */
let lastHex32: string | null = null

export function utf8(text: string): Uint8Array {
  return Buffer.from(text, 'utf8')
}

export function utf8Length(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

/** For `sort`: ids and other ASCII text, whose UTF-16 order is byte order. */
export function compareAscii(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** A view of the same memory with Buffer's fast methods. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** The digits of the current text, as bytes and as pairs of bytes. */
const DIGITS_START = 4_096
const DIGITS_KEPT = 1_048_576
let { digits, pairs } = makeDigits(DIGITS_START)

/** Maps two ASCII digits to their byte, or to −1 if one of them is no lower-case hex digit. */
const BYTE_OF = new Int16Array(2 ** 16).fill(-1)
for (let byte = 0; byte < 256; byte++) {
  // Written in the way in which `writeHex` reads it, so the machine's byte order does not matter.
  digits.write(byte.toString(16).padStart(2, '0'), 0, 'latin1')
  BYTE_OF[pairs[0] as number] = byte
}

function makeDigits(bytes: number): { digits: Buffer; pairs: Uint16Array } {
  const memory = new ArrayBuffer(bytes)
  return { digits: Buffer.from(memory), pairs: new Uint16Array(memory) }
}
