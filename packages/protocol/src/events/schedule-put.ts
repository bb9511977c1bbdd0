import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, CALLER } from '../examples.ts'
import { scheduleFields } from '../records/schedule.ts'
import { caller, timeMs } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

const { cron, timezone, overlap, catch_up: catchUp } = scheduleFields

export const schedulePut = defineEvent({
  name: 'schedulePut',
  summary: 'A schedule is new or has changed.',
  schema: z.strictObject({
    type: z.literal('schedulePut'),
    ...eventFields,
    subject: z.string().describe('its id'),
    caller,
    cron,
    timezone,
    overlap,
    catchUp,
    nextAt: timeMs.nullable().describe('null: it is paused'),
  }),
  example: {
    type: 'schedulePut',
    seq: 17,
    at: AT,
    subject: 'nightly',
    caller: CALLER,
    cron: '0 2 * * *',
    timezone: 'UTC',
    overlap: 'allow',
    catchUp: 'last',
    nextAt: AT + 60_000,
  },
})
