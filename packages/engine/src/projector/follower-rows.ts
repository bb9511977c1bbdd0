import { decodeCbor, encodeCbor } from '@fairlead/core'
import type { Snapshot } from '@fairlead/core/internal'
import type { LaneRows } from './lane-rows.ts'

/** The lane of followers of the journal, each under its id. */
const LANE = 'follower'

/** The stored form of the place that a follower has reached; null deletes it. */
export function putFollower(rows: LaneRows, id: string, seq: number | null): void {
  rows.put(LANE, id, seq === null ? null : encodeCbor(seq))
}

export function restoreFollowers({ lanes }: Pick<Snapshot, 'lanes'>): Map<string, number> {
  const rows = lanes.filter(({ lane }) => lane === LANE)
  return new Map(rows.map(({ key, value }) => [key, decodeCbor(value) as number]))
}
