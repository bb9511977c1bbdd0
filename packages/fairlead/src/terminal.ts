import pc from 'picocolors'

/** Where a command writes. Results go to `out`, progress and errors to `note`. */
export interface Terminal {
  readonly out: (text: string) => void
  /** Bytes of a result, as they are. */
  readonly raw: (bytes: Uint8Array) => void
  readonly note: (text: string) => void
  /** A line that the next one replaces; shown only where somebody watches. */
  readonly progress: (text: string) => void
  readonly colors: ReturnType<typeof pc.createColors>
  /** The size of the screen that results go to; null where a program or a file gets them. */
  readonly screen: { readonly columns: number; readonly rows: number } | null
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { stdout, stderr } = process
  // The reader may stop reading, as `head` does: then there is nobody left to tell.
  stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1))
  const isWatched = stderr.isTTY === true
  let shown = false
  const clear = (): void => {
    if (shown) stderr.write('\r\u001b[2K')
    shown = false
  }
  return {
    out: (text) => {
      clear()
      stdout.write(`${text}\n`)
    },
    raw: (bytes) => {
      clear()
      stdout.write(bytes)
    },
    note: (text) => {
      clear()
      stderr.write(`${text}\n`)
    },
    progress: (text) => {
      if (!isWatched) return
      clear()
      stderr.write(text)
      shown = true
    },
    colors: pc.createColors(stdout.isTTY === true && pc.isColorSupported),
    get screen() {
      return stdout.isTTY === true ? { columns: stdout.columns, rows: stdout.rows } : null
    },
  }
}
