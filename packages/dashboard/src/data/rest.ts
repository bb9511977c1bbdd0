const REST_FACTOR = 9

/** How long a question rests after an answer: what is dear for the server takes a tenth of the time at most (VIEW-3). */
export function restAfter(tookMs: number, everyMs: number): number {
  return Math.max(everyMs, REST_FACTOR * tookMs)
}
