/** Bytes of `0x` hex. */
export function bytesOfHex(hex: string): Uint8Array {
  const out = new Uint8Array((hex.length - 2) / 2)
  for (let i = 0; i < out.length; i++) out[i] = Number.parseInt(hex.slice(2 + 2 * i, 4 + 2 * i), 16)
  return out
}

export function hexOf(bytes: Uint8Array): string {
  return `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

const SPACE = 32
/** Tab, line feed, carriage return. */
const LAYOUT = [9, 10, 13]

/** The text that bytes are in UTF-8; null if they are none, or have control characters. */
export function textOfBytes(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return bytes.some((byte) => byte < SPACE && !LAYOUT.includes(byte)) ? null : text
  } catch {
    return null
  }
}

const LINE = 16

/** Lines of an offset, 16 bytes in hex, and the same as ASCII. */
export function hexDump(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < bytes.length; at += LINE) {
    const part = [...bytes.subarray(at, at + LINE)]
    const hex = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const ascii = part.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.'))
    lines.push(
      `${at.toString(16).padStart(8, '0')}  ${hex.padEnd(3 * LINE - 1)}  ${ascii.join('')}`,
    )
  }
  return lines.join('\n')
}
