// Not those of core: a browser has no Buffer.

const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Bytes as they are written in JSON: `0x` and lower-case hex digits (VALUE-3). */
export function hexOf(bytes: Uint8Array): string {
  let text = '0x'
  for (const byte of bytes) text += DIGITS[byte]
  return text
}

/** The bytes of a text that the server wrote. */
export function bytesOf(hex: string): Uint8Array {
  const bytes = new Uint8Array((hex.length - 2) / 2)
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = Number.parseInt(hex.slice(2 + 2 * i, 4 + 2 * i), 16)
  }
  return bytes
}
