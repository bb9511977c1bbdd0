import type { ScheduleRecord } from '@fairlead/protocol'
import { table } from '../terminal/table.ts'

/** Schedules as a table. */
export function schedulesTable(schedules: readonly ScheduleRecord[]): string[] {
  return table(
    [
      { title: 'schedule' },
      { title: 'cron' },
      { title: 'time zone' },
      { title: 'job' },
      { title: 'next' },
      { title: 'last' },
    ],
    schedules.map((schedule) => [
      schedule.id,
      schedule.cron,
      schedule.timezone,
      jobText(schedule),
      nextText(schedule),
      schedule.last_at === null ? '' : timeText(schedule.last_at),
    ]),
  )
}

/** One schedule, a line a fact. */
export function scheduleText(schedule: ScheduleRecord): string[] {
  const facts: [string, string][] = [
    ['cron', schedule.cron],
    ['time zone', schedule.timezone],
    ['job', jobText(schedule)],
    ['next', nextText(schedule)],
    ['overlap', schedule.overlap],
    ['catch-up', schedule.catch_up],
    ['caller', schedule.caller],
  ]
  if (schedule.last_at !== null) facts.push(['last', timeText(schedule.last_at)])
  if (schedule.last_task_id !== null) facts.push(['last job', schedule.last_task_id])
  const width = Math.max(...facts.map(([name]) => name.length))
  return [schedule.id, ...facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`)]
}

function jobText({ request }: ScheduleRecord): string {
  const { kind, payload } = request as {
    readonly kind: string
    readonly payload: { readonly model?: string; readonly name?: string }
  }
  const name = payload.name ?? payload.model
  return name === undefined ? kind : `${kind} ${name}`
}

function nextText({ paused, next_at: nextAt }: ScheduleRecord): string {
  if (paused) return 'paused'
  return nextAt === null ? 'never' : timeText(nextAt)
}

function timeText(atMs: number): string {
  return new Date(atMs).toISOString()
}
