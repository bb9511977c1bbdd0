/** Resolves when it is woken, after so long, or when the signal fires, and leaves nothing behind. */
export function untilWoken(
  ms: number,
  signal: AbortSignal,
  give: (wake: () => void) => void = () => {},
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    give(end)
  })
}
