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
