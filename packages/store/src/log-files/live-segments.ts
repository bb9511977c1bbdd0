import type { SegmentHeader } from './segment-header.ts'

/** A segment by its header. */
export interface KnownSegment {
  readonly header: SegmentHeader
  /** There is a whole record at its beginning. */
  hasRecord(): boolean
}

export interface LiveSegments<Known> {
  /** Those that have the log, oldest first; empty if it was never begun. */
  readonly live: readonly Known[]
  readonly free: readonly Known[]
  /** The newest batch of the log that is known to be synced. */
  readonly mark: number
}

/**
 * The log begins in the newest segment that says so, and each segment names the next. A segment is named before it gets a
 * record: so a newer one that is not named is free, unless it has one. Then the name was lost.
 */
export function liveSegments<Known extends KnownSegment>(
  known: readonly Known[],
): LiveSegments<Known> {
  const byAge = known
    .filter(({ header }) => header.generation > 0)
    .toSorted((a, b) => a.header.generation - b.header.generation)
  const live: Known[] = []
  let next = byAge.findLast(({ header }) => header.isStart) ?? byAge[0]
  while (next !== undefined) {
    live.push(next)
    const { header } = next
    next =
      header.next === 0
        ? byAge.find((one) => one.header.generation > header.generation && one.hasRecord())
        : byAge.find((one) => one.header.generation === header.next)
  }
  const marks = known.map(({ header }) => header.mark)
  // A segment is begun when everything before it is synced.
  const begins = live.map(({ header }) => header.first - 1)
  return {
    live,
    free: known.filter((one) => !live.includes(one)),
    mark: Math.max(0, ...marks, ...begins),
  }
}
