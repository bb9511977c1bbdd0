const FIRST_MS = 50
export const LONGEST_MS = 5_000

/**
 * How long to wait before the next try: twice as long each time, and a random part of that, so that
 * workers that failed together do not come back together.
 */
export function retryDelayMs(tries: number, random: () => number): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(tries, 20))
  return Math.ceil(full * (0.5 + random() / 2))
}
