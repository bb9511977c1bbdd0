import { type CborValue, decodeCbor, encodeCbor, type JobId } from '@fairlead/core'
import type { Progress, Snapshot } from '@fairlead/core/internal'
import type { LaneRows } from './lane-rows.ts'

/** The lane of progress, each under its job. */
const LANE = 'progress'

/** The stored form of what was reported last; null deletes it. */
export function putProgress(rows: LaneRows, jobId: JobId, progress: Progress | null): void {
  const cells = progress && [progress.attempt, progress.percent, progress.message, progress.at]
  rows.put(LANE, jobId, cells === null ? null : encodeCbor(cells))
}

export function restoreProgress({ lanes }: Pick<Snapshot, 'lanes'>): Map<JobId, Progress> {
  const rows = lanes.filter(({ lane }) => lane === LANE)
  return new Map(rows.map(({ key, value }) => [key as JobId, progressOf(decodeCbor(value))]))
}

function progressOf(cells: CborValue): Progress {
  const [attempt, percent, message, at] = cells as unknown as readonly [
    number,
    number | null,
    string | null,
    number,
  ]
  return { attempt, percent, message, at }
}
