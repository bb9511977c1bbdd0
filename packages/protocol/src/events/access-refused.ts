import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT } from '../examples.ts'
import { count } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const accessRefused = defineEvent({
  name: 'accessRefused',
  summary: 'Somebody was not let in, or not let to what it asked for.',
  schema: z.strictObject({
    type: z.literal('accessRefused'),
    ...eventFields,
    subject: z.string().describe('what was refused'),
    by: z.string().describe('an address, or the id of a token'),
    reason: z.string(),
    attempts: count,
  }),
  example: {
    type: 'accessRefused',
    seq: 17,
    at: AT,
    subject: 'authentication',
    by: '192.0.2.7',
    reason: 'wrong_token',
    attempts: 3,
  },
})
