import type { ResultOf } from '@fairlead/client'

export type Entry = ResultOf<'audit.list'>['entries'][number]

/** The number of the newest entry that does not continue the one before it; null if all do. Newest first. */
export function brokenLink(entries: readonly Entry[]): number | null {
  for (const [i, entry] of entries.entries()) {
    const before = entries[i + 1]
    if (before === undefined) break
    if (entry.prev_hash !== before.hash || entry.seq !== before.seq + 1) return entry.seq
  }
  return null
}

/** A stretch of numbers, both ends included. */
export interface Stretch {
  readonly from: number
  readonly to: number
}

/** What is known to hold, with a stretch more. One that does not touch it would claim what lies between. */
export function withStretch(known: Stretch | null, more: Stretch): Stretch {
  if (known === null) return more
  const isTouching = more.from <= known.to + 1 && more.to >= known.from - 1
  if (!isTouching) return known
  return { from: Math.min(known.from, more.from), to: Math.max(known.to, more.to) }
}
