import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT } from '../examples.ts'
import { count } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const dataRead = defineEvent({
  name: 'dataRead',
  summary: 'An operator, admin or auditor was shown what belongs to a caller.',
  schema: z.strictObject({
    type: z.literal('dataRead'),
    ...eventFields,
    subject: z.string().describe('the method'),
    by: z.string().describe('the id of a token'),
    caller: z.string().describe('whose it is; several for a list'),
    reads: count,
  }),
  example: {
    type: 'dataRead',
    seq: 18,
    at: AT,
    subject: 'aicf.getJob',
    by: 'token:0a1b2c3d4e5f',
    caller: 'several',
    reads: 12,
  },
})
