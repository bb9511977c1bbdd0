// Not those of core: a browser has no Buffer. Digits are bytes until the end: a text that grows digit by
// digit is a chain of as many pieces, and collecting those took longer than all the rest of a request.

const ASCII = new TextDecoder()
const DIGITS = new TextEncoder().encode('0123456789abcdef')

/** Bytes as they are written in JSON: `0x` and lower-case hex digits (VALUE-3). */
export function hexOf(bytes: Uint8Array): string {
  const digits = new Uint8Array(2 + 2 * bytes.length)
  digits[0] = 0x30
  digits[1] = 0x78
  let at = 2
  for (const byte of bytes) {
    digits[at++] = DIGITS[byte >> 4] as number
    digits[at++] = DIGITS[byte & 0xf] as number
  }
  return ASCII.decode(digits)
}

/** The bytes of a text that the server wrote. */
export function bytesOf(hex: string): Uint8Array {
  const bytes = new Uint8Array((hex.length - 2) / 2)
  for (let i = 0, at = 2; i < bytes.length; i++, at += 2) {
    bytes[i] = (numberOf(hex.charCodeAt(at)) << 4) | numberOf(hex.charCodeAt(at + 1))
  }
  return bytes
}

/** Of a lower-case hex digit. */
function numberOf(digit: number): number {
  return digit < 0x3a ? digit - 0x30 : digit - 0x57
}
