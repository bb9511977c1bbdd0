import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT } from '../examples.ts'
import { count } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const replayAccepted = defineEvent({
  name: 'replayAccepted',
  summary: 'An operator took the decisions of a newer version for commands of the log.',
  schema: z.strictObject({
    type: z.literal('replayAccepted'),
    ...eventFields,
    subject: z.literal('store'),
    batches: count.describe('batches that were replayed'),
    differences: count.describe('those of them that were decided otherwise'),
  }),
  example: {
    ...{ type: 'replayAccepted', seq: 22, at: AT, subject: 'store' },
    ...{ batches: 40, differences: 2 },
  },
})
