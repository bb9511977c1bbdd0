import { z } from 'zod'
import { caller, jsonObject, taskId, timeMs } from '../wire/leaves.ts'

export const scheduleId = z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, {
  error: 'expected 1 to 64 of A–Z, a–z, 0–9, dot, dash and underscore',
})

export const scheduleOwner = caller.optional().describe('an operator may name another than its own')

export const scheduleFields = {
  cron: z
    .string()
    .max(256)
    .describe('minute, hour, day, month, weekday; a sixth field in front is the second'),
  timezone: z.string().max(64).describe('as in Europe/Berlin'),
  overlap: z
    .enum(['allow', 'skip'])
    .describe('skip: it leaves a time out while its last job is live'),
  catch_up: z
    .enum(['none', 'last', 'all'])
    .describe('the times that it makes up for after downtime; all is the newest 100 at most'),
  paused: z.boolean(),
}

export const scheduleRecord = z
  .strictObject({
    id: scheduleId,
    caller,
    ...scheduleFields,
    request: jsonObject.describe('as for aicf.enqueue'),
    next_at: timeMs.nullable().describe('null: paused, or no time is left'),
    last_at: timeMs.nullable().describe('the time that it last fired for'),
    last_task_id: taskId.nullable(),
  })
  .meta({ id: 'ScheduleRecord' })

export type ScheduleRecord = z.output<typeof scheduleRecord>
