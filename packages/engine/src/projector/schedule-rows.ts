import { type CborValue, decodeCbor, encodeCbor, type JobId, type Schedule } from '@fairlead/core'
import { type ScheduleKey, type Snapshot, scheduleId } from '@fairlead/core/internal'
import type { LaneRows } from './lane-rows.ts'

/** The lane of schedules, each under its caller and id. */
const LANE = 'schedule'

/** The stored form of a schedule that changed; null deletes it. */
export function putSchedule(rows: LaneRows, key: ScheduleKey, schedule: Schedule | null): void {
  rows.put(LANE, scheduleId(key), schedule === null ? null : encodeCbor(cellsOf(schedule)))
}

export function restoreSchedules({ lanes }: Pick<Snapshot, 'lanes'>): Schedule[] {
  const rows = lanes.filter(({ lane }) => lane === LANE)
  return rows.map(({ key, value }) => scheduleOf(key, decodeCbor(value)))
}

function cellsOf(schedule: Schedule): CborValue {
  const { cron, timezone, request, tier, overlap, catchUp, isPaused } = schedule
  const { nextAt, lastAt, lastJob } = schedule
  return [cron, timezone, request, tier, overlap, catchUp, isPaused, nextAt, lastAt, lastJob]
}

type Cells = readonly [
  string,
  string,
  string,
  string,
  Schedule['overlap'],
  Schedule['catchUp'],
  boolean,
  number | null,
  number | null,
  JobId | null,
]

function scheduleOf(key: string, cells: CborValue): Schedule {
  const end = key.indexOf(' ')
  const [cron, timezone, request, tier, overlap, catchUp, isPaused, nextAt, lastAt, lastJob] =
    cells as unknown as Cells
  const owner = { caller: key.slice(0, end) as Schedule['caller'], id: key.slice(end + 1) }
  const plan = { cron, timezone, request, tier, overlap, catchUp, isPaused }
  return { ...owner, ...plan, nextAt, lastAt, lastJob }
}
