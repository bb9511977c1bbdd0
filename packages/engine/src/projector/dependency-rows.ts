import { type CborMap, decodeCbor, encodeCbor, type JobId } from '@fairlead/core'
import type { EndedDependency, KeyedRow, Snapshot } from '@fairlead/core/internal'

/** The lane of jobs that ended, and whose dependents were not all told, each under its id. */
const LANE = 'dependency'

export function dependencyRows(changes: ReadonlyMap<JobId, EndedDependency | null>): KeyedRow[] {
  if (changes.size === 0) return []
  return [...changes].map(([key, ended]) => ({ lane: LANE, key, value: ended && cellsOf(ended) }))
}

export function restoreDependencies({ lanes }: Pick<Snapshot, 'lanes'>): EndedDependency[] {
  return lanes
    .filter(({ lane }) => lane === LANE)
    .map(({ key, value }) => {
      const { told_to, last_seq, ended_at, completed, place } = decodeCbor(value) as CborMap
      return {
        id: key as JobId,
        toldTo: told_to as number,
        lastSeq: last_seq as number,
        endedAt: ended_at as number,
        isCompleted: completed === true,
        place: place as number,
      }
    })
}

function cellsOf(ended: EndedDependency): Uint8Array {
  const { toldTo, lastSeq, endedAt, isCompleted, place } = ended
  return encodeCbor({
    told_to: toldTo,
    last_seq: lastSeq,
    ended_at: endedAt,
    completed: isCompleted,
    place,
  })
}
