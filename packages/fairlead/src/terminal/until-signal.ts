/**
 * npm sends a Ctrl-C on to the command that it runs, and the terminal has sent it there already. A second
 * signal so soon is the same press of the keys.
 */
const SAME_PRESS_MS = 500

/**
 * A signal that fires with the first Ctrl-C or SIGTERM. A second one, pressed while the command stops, ends
 * the process as ever (CLOSE-2).
 */
export function untilSignal(now = (): number => performance.now()): {
  readonly signal: AbortSignal
  readonly done: Promise<void>
} {
  const controller = new AbortController()
  const done = new Promise<void>((resolve) => {
    let firstAt: number | null = null
    const stop = (signal: NodeJS.Signals): void => {
      if (firstAt === null) {
        firstAt = now()
        controller.abort()
        resolve()
      } else if (now() - firstAt >= SAME_PRESS_MS) {
        process.removeListener('SIGINT', stop)
        process.removeListener('SIGTERM', stop)
        process.kill(process.pid, signal)
      }
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
  })
  return { signal: controller.signal, done }
}
