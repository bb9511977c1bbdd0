import { StringDecoder } from 'node:string_decoder'

/** A line that goes on for longer than this is told in parts. */
const LENGTH_MAX = 16_384

/** What a program writes to standard error, line by line: so that jobs that run together do not mix, and each can be escaped. */
export class SpokenLines {
  readonly #tell: (line: string) => void
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''

  constructor(tell: (line: string) => void) {
    this.#tell = tell
  }

  add(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#tell(line.endsWith('\r') ? line.slice(0, -1) : line)
    if (this.#rest.length <= LENGTH_MAX) return
    this.#tell(this.#rest)
    this.#rest = ''
  }

  /** What has no end of line yet is told, too. */
  end(): void {
    const rest = this.#rest + this.#decoder.end()
    if (rest !== '') this.#tell(rest)
    this.#rest = ''
  }
}
