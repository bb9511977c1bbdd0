import { type BulkRun, type CborMap, decodeCbor, encodeCbor } from '@fairlead/core'
import type { Snapshot } from '@fairlead/core/internal'
import type { LaneRows } from './lane-rows.ts'

/** The lane of bulk runs, each under its id. */
const LANE = 'bulk'

/** The stored form of a run that changed; null deletes it. */
export function putBulkRun(rows: LaneRows, id: string, run: BulkRun | null): void {
  rows.put(LANE, id, run === null ? null : encodeCbor({ ...run }))
}

export function restoreBulkRuns({ lanes }: Pick<Snapshot, 'lanes'>): BulkRun[] {
  const rows = lanes.filter(({ lane }) => lane === LANE)
  return rows.map(({ value }) => decodeCbor(value) as CborMap as unknown as BulkRun)
}
