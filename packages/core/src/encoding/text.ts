/** Text as UTF-8 without modules or globals of Node: the limiter runs in other runtimes too (LIMIT-18). */

const encoder = new TextEncoder()

/** For `sort`: orders any text by its UTF-8 bytes, which differs from UTF-16 order above U+FFFF. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x === y) continue
    // Only surrogates are ordered differently from their bytes.
    return isSurrogate(x) || isSurrogate(y) ? compareEncoded(a, b) : Math.sign(x - y)
  }
  return Math.sign(a.length - b.length)
}

/** The length of a text in UTF-8. A lone surrogate counts as the replacement character. */
export function utf8Bytes(text: string): number {
  // Up to `LOOP_MAX` a loop is faster than an array of the bytes.
  if (text.length > LOOP_MAX) return encoder.encode(text).length
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.codePointAt(i) as number
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    if (code >= 0x10000) i++
  }
  return bytes
}

const LOOP_MAX = 256

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xe000
}

function compareEncoded(a: string, b: string): number {
  const [x, y] = [encoder.encode(a), encoder.encode(b)]
  const at = x.findIndex((byte, i) => byte !== y[i])
  // A prefix of the other text comes first.
  if (at === -1) return Math.sign(x.length - y.length)
  return Math.sign((x[at] as number) - (y[at] ?? -1))
}
