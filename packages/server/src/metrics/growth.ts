/** Sizes are kept this far back. */
const SPAN_MS = 3_600_000
const SAMPLE_MS = 60_000
/** A rate from less time says nothing. */
const SPAN_MIN_MS = 60_000
const HOUR_MS = 3_600_000

/** How fast a file grows, by the sizes that were seen in the last hour. */
export class Growth {
  readonly #seen: { readonly at: number; readonly bytes: number }[] = []

  /** Null until sizes of a minute apart were seen. */
  seen(
    bytes: number,
    nowMs: number,
  ): { readonly bytes_per_hour: number; readonly over_ms: number } | null {
    const newest = this.#seen.at(-1)
    if (newest === undefined || nowMs - newest.at >= SAMPLE_MS)
      this.#seen.push({ at: nowMs, bytes })
    while (nowMs - (this.#seen[0]?.at ?? nowMs) > SPAN_MS) this.#seen.shift()
    const [oldest] = this.#seen
    const over = nowMs - (oldest?.at ?? nowMs)
    if (oldest === undefined || over < SPAN_MIN_MS) return null
    return { bytes_per_hour: Math.round(((bytes - oldest.bytes) / over) * HOUR_MS), over_ms: over }
  }
}
