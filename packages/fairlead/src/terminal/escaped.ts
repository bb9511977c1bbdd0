/**
 * What a terminal acts on, or shows in another order than it was written: control characters (C0, DEL, C1), line breaks,
 * and the marks that turn the direction of text.
 */
const ACTED_ON = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/**
 * A line that a terminal only shows (TERMINAL-1). JSON stays the same JSON: what it may have in it as it is, DEL and all
 * above, is escaped in its own way. An escaped line is not changed by this again.
 */
export function escaped(line: string): string {
  return line.replaceAll(ACTED_ON, (sign) => SHORT[sign] ?? codeOf(sign.charCodeAt(0)))
}

function codeOf(code: number): string {
  const digits = code.toString(16)
  return code < 0x20 ? `\\x${digits.padStart(2, '0')}` : `\\u${digits.padStart(4, '0')}`
}
