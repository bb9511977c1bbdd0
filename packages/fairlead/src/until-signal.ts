/** A signal that fires with the first Ctrl-C or SIGTERM; the second one ends the process as ever. */
export function untilSignal(): { readonly signal: AbortSignal; readonly done: Promise<void> } {
  const controller = new AbortController()
  const done = new Promise<void>((resolve) => {
    const stop = (): void => {
      process.removeListener('SIGINT', stop)
      process.removeListener('SIGTERM', stop)
      controller.abort()
      resolve()
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
  })
  return { signal: controller.signal, done }
}
