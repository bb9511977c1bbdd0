import { randomUUID } from 'node:crypto'
import pc from 'picocolors'
import { escaped } from './escaped.ts'

/** A line, or lines; each is one line on the terminal, whatever it has in it. */
export type Lines = string | readonly string[]

/**
 * Where a command writes. Results go to `out`, progress and errors to `note`. All of it may have data of others in it:
 * nothing but `raw` hands on a character that a terminal acts on (TERMINAL-1). So a text of several lines is given as
 * several, and a colour is one of `colors`.
 */
export interface Terminal {
  readonly out: (lines: Lines) => void
  /** Bytes of a result, as they are. */
  readonly raw: (bytes: Uint8Array) => void
  readonly note: (lines: Lines) => void
  /** A line that the next one replaces; shown only where somebody watches. */
  readonly progress: (line: string) => void
  /** A line as it goes to the screen, for those who draw that themselves. */
  readonly drawn: (line: string) => string
  readonly colors: Colors
  /** The size of the screen that results go to; null where a program or a file gets them. */
  readonly screen: { readonly columns: number; readonly rows: number } | null
}

type Color = (text: string) => string
export type Colors = Readonly<Record<'bold' | 'dim' | 'red' | 'green' | 'yellow', Color>>

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { stdout, stderr } = process
  // The reader may stop reading, as `head` does: then there is nobody left to tell.
  stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1))
  const isWatched = stderr.isTTY === true
  const { colors, drawn } = palette(stdout.isTTY === true && pc.isColorSupported)
  let shown = false
  const clear = (): void => {
    if (shown) stderr.write('\r\u001b[2K')
    shown = false
  }
  const text = (lines: Lines): string =>
    (typeof lines === 'string' ? [lines] : lines).map((line) => `${drawn(line)}\n`).join('')
  return {
    out: (lines) => {
      clear()
      stdout.write(text(lines))
    },
    raw: (bytes) => {
      clear()
      stdout.write(bytes)
    },
    note: (lines) => {
      clear()
      stderr.write(text(lines))
    },
    progress: (line) => {
      if (!isWatched) return
      clear()
      stderr.write(drawn(line))
      shown = true
    },
    drawn,
    colors,
    get screen() {
      return stdout.isTTY === true ? { columns: stdout.columns, rows: stdout.rows } : null
    },
  }
}

/**
 * Colours as marks that only this process knows, which `drawn` makes into those of the terminal: data that has a colour
 * of its own in it is escaped like any other.
 */
export function palette(isColored: boolean): Pick<Terminal, 'colors' | 'drawn'> {
  const codes = pc.createColors(isColored)
  const key = randomUUID()
  const marked = (name: keyof Colors): Color => {
    // What stands before and behind the text that it is given.
    const [open = '', close = ''] = codes[name]('|').split('|')
    if (open === '') return (text) => text
    const sign = (code: string) => `<${key}${code.slice(1)}>`
    return (text) => `${sign(open)}${text}${sign(close)}`
  }
  const marks = new RegExp(`<${key}(\\[\\d+m)>`, 'g')
  return {
    colors: {
      bold: marked('bold'),
      dim: marked('dim'),
      red: marked('red'),
      green: marked('green'),
      yellow: marked('yellow'),
    },
    drawn: (line) => escaped(line).replaceAll(marks, '\u001b$1'),
  }
}
