import type { Terminal } from '../terminal/terminal.ts'
import { untilSignal } from '../terminal/until-signal.ts'
import { type Seen, topText } from './top-text.ts'

const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const REST_OF_LINE = '\u001b[K'
const REST_OF_SCREEN = '\u001b[J'
const HISTORY = 300

interface Watching {
  readonly look: () => Promise<Seen>
  readonly intervalMs: number
  readonly terminal: Terminal
  readonly url: string
}

/** Draws a look after the other on a screen of its own, until it is told to stop. */
export async function watchTop({ look, intervalMs, terminal, url }: Watching): Promise<void> {
  const { stdin, stdout } = process
  const stop = untilSignal()
  const history: number[] = []
  let last: Seen | null = null
  let lastAt = 0
  let trouble: string | null = null
  const draw = (): void => {
    const { screen, colors } = terminal
    if (screen === null) return
    const look = { ...screen, colors, url }
    const agedMs = performance.now() - lastAt
    const seen = last === null ? null : aged(last, agedMs)
    const text = seen === null ? [`waiting for ${url} …`] : topText(seen, history, look)
    const lines = trouble === null ? text : [colors.red(trouble), ...text]
    const shown = lines.slice(0, screen.rows).map((line) => terminal.drawn(line) + REST_OF_LINE)
    stdout.write(HOME + shown.join('\n') + REST_OF_SCREEN)
  }
  const keys = listenForQuit(stdin)
  stdout.write(ENTER)
  stdout.on('resize', draw)
  try {
    while (!stop.signal.aborted && !keys.hasQuit()) {
      try {
        last = await look()
        lastAt = performance.now()
        trouble = null
        history.push(last.per_second.completed)
        if (history.length > HISTORY) history.shift()
      } catch (error) {
        trouble = (error as Error).message
        if ((error as { retryable?: boolean }).retryable !== true) throw error
      }
      draw()
      await Promise.race([pause(intervalMs), stop.done, keys.quit])
    }
  } finally {
    stdout.removeListener('resize', draw)
    keys.close()
    stdout.write(LEAVE)
  }
}

/** What was seen long ago says nothing of now, least of all that it is fine. */
function aged(seen: Seen, agedMs: number): Seen {
  const { verdict } = seen
  if (agedMs <= verdict.valid_ms) return seen
  const text = `Unknown: the data is ${Math.floor(agedMs / 1_000)} s old.`
  return { ...seen, verdict: { ...verdict, status: 'unknown', text } }
}

function listenForQuit(stdin: NodeJS.ReadStream): {
  readonly quit: Promise<void>
  readonly hasQuit: () => boolean
  readonly close: () => void
} {
  let isOver = false
  if (stdin.isTTY !== true) {
    return { quit: new Promise(() => {}), hasQuit: () => false, close: () => {} }
  }
  let heard: (key: Buffer) => void = () => {}
  const quit = new Promise<void>((resolve) => {
    heard = (key) => {
      // In raw mode Ctrl-C is a key like any other.
      if (key[0] !== 3 && key.toString() !== 'q') return
      isOver = true
      resolve()
    }
  })
  stdin.setRawMode(true)
  stdin.resume()
  stdin.on('data', heard)
  return {
    quit,
    hasQuit: () => isOver,
    close: () => {
      stdin.removeListener('data', heard)
      stdin.setRawMode(false)
      stdin.pause()
    },
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
