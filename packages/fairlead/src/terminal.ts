import pc from 'picocolors'

/** Where a command writes. Results go to `out`, progress and errors to `note`. */
export interface Terminal {
  readonly out: (text: string) => void
  readonly note: (text: string) => void
  /** A line that the next one replaces; shown only where somebody watches. */
  readonly progress: (text: string) => void
  readonly colors: ReturnType<typeof pc.createColors>
}

/** How a command ended, as the process says it. */
export const EXIT = { ok: 0, failed: 1, misuse: 2 } as const

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { stdout, stderr } = process
  // Whoever reads may stop reading, as `head` does: then there is nobody left to tell.
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
  }
}
