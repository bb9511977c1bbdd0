import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, CALLER } from '../examples.ts'
import { caller, timeMs } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const scheduleSkipped = defineEvent({
  name: 'scheduleSkipped',
  summary: 'A schedule left out a time, or the times from one to the next.',
  schema: z.strictObject({
    type: z.literal('scheduleSkipped'),
    ...eventFields,
    subject: z.string().describe('its id'),
    caller,
    reason: z.string().describe('`missed`, `overlap`, or the code of the refusal of its job'),
    dueAt: timeMs.describe('the time that was left out, the first of several'),
    nextAt: timeMs.nullable(),
  }),
  example: {
    type: 'scheduleSkipped',
    seq: 17,
    at: AT,
    subject: 'nightly',
    caller: CALLER,
    reason: 'overlap',
    dueAt: AT,
    nextAt: AT + 60_000,
  },
})
