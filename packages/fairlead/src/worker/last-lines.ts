/** As many bytes as the engine keeps of a message. */
const BYTES_MAX = 4_096

/** The last lines of a stream, whole ones as far as they fit. */
export class LastLines {
  #kept = Buffer.alloc(0)
  #isCut = false

  add(chunk: Uint8Array): void {
    const all = Buffer.concat([this.#kept, chunk])
    // Twice as much as is given: line ends at the end are not given.
    this.#kept = Buffer.from(all.subarray(Math.max(0, all.length - 2 * BYTES_MAX)))
    this.#isCut ||= all.length > this.#kept.length
  }

  text(): string {
    // A byte that is no text takes three as U+FFFD, so the bytes are counted after that.
    const written = Buffer.from(this.#kept.toString('utf8').trimEnd())
    if (!this.#isCut && written.length <= BYTES_MAX) return written.toString('utf8')
    const start = Math.max(0, written.length - BYTES_MAX)
    const last = written.subarray(start)
    const isWhole = start > 0 && written[start - 1] === LINE_END
    const end = isWhole ? -1 : last.indexOf(LINE_END)
    // One line that is longer than all that fits is cut within, though not within a character.
    return end === -1 && !isWhole ? withoutPart(last) : last.subarray(end + 1).toString('utf8')
  }
}

const LINE_END = 0x0a

/** Bytes that continue a character whose beginning is not here are left out. */
function withoutPart(bytes: Uint8Array): string {
  let from = 0
  while (from < 3 && ((bytes[from] ?? 0) & 0xc0) === 0x80) from++
  return Buffer.from(bytes.subarray(from)).toString('utf8')
}
