const WIDTH = 30

/** A bar that is filled as far as the work is done. */
export function progressBar(done: number, of: number): string {
  const filled = of === 0 ? WIDTH : Math.floor((WIDTH * Math.min(done, of)) / of)
  return `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`
}
