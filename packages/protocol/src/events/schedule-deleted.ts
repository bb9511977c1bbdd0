import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, CALLER } from '../examples.ts'
import { caller } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const scheduleDeleted = defineEvent({
  name: 'scheduleDeleted',
  summary: 'A schedule was deleted.',
  schema: z.strictObject({
    type: z.literal('scheduleDeleted'),
    ...eventFields,
    subject: z.string().describe('its id'),
    caller,
  }),
  example: { type: 'scheduleDeleted', seq: 17, at: AT, subject: 'nightly', caller: CALLER },
})
