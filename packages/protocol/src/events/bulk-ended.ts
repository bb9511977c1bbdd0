import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, CALLER } from '../examples.ts'
import { caller, count } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const bulkEnded = defineEvent({
  name: 'bulkEnded',
  summary: 'An operation on many jobs has ended.',
  schema: z.strictObject({
    type: z.literal('bulkEnded'),
    ...eventFields,
    subject: z.string().describe('its operation id'),
    action: z.enum(['cancel', 'retry']),
    caller: caller.nullable().describe('null: with the rights of an operator'),
    done: count.describe('jobs that were cancelled or enqueued again, so far'),
    skipped: count.describe('jobs that were left as they are, so far'),
  }),
  example: {
    type: 'bulkEnded',
    seq: 17,
    at: AT,
    subject: 'op-17',
    action: 'retry',
    caller: CALLER,
    done: 250,
    skipped: 3,
  },
})
