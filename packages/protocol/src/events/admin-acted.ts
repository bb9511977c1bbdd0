import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT } from '../examples.ts'
import { eventFields } from './event-fields.ts'

export const adminActed = defineEvent({
  name: 'adminActed',
  summary: 'An operator or admin changed something for others.',
  schema: z.strictObject({
    type: z.literal('adminActed'),
    ...eventFields,
    by: z.string().describe('the id of a token'),
    method: z.string(),
  }),
  example: { type: 'adminActed', seq: 17, at: AT, by: 'token:4f1d0c5ab7e9', method: 'policy.set' },
})
