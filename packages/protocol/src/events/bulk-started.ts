import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, CALLER } from '../examples.ts'
import { caller, count } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const bulkStarted = defineEvent({
  name: 'bulkStarted',
  summary: 'An operation on many jobs has begun.',
  schema: z.strictObject({
    type: z.literal('bulkStarted'),
    ...eventFields,
    subject: z.string().describe('its operation id'),
    action: z.enum(['cancel', 'retry']),
    caller: caller.nullable().describe('null: with the rights of an operator'),
    filter: z.string().describe('as JSON'),
    limit: count,
  }),
  example: {
    type: 'bulkStarted',
    seq: 17,
    at: AT,
    subject: 'op-17',
    action: 'retry',
    caller: CALLER,
    filter: '{"status":"FAILED"}',
    limit: 1_000,
  },
})
