import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT } from '../examples.ts'
import { timeMs } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const clockFixed = defineEvent({
  name: 'clockFixed',
  summary: 'The times of a store that was written by a clock far ahead were moved back.',
  schema: z.strictObject({
    type: z.literal('clockFixed'),
    ...eventFields,
    subject: z.literal('clock'),
    before: timeMs.describe('the last time that the store had seen'),
    after: timeMs.describe('the one that it has now'),
  }),
  example: {
    type: 'clockFixed',
    seq: 19,
    at: AT,
    subject: 'clock',
    before: AT + 31_536_000_000,
    after: AT,
  },
})
