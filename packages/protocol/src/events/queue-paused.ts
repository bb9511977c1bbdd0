import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT } from '../examples.ts'
import { queueKind } from '../records/queue.ts'
import { caller } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const queuePaused = defineEvent({
  name: 'queuePaused',
  summary: 'Jobs are held back until a resume of the same key.',
  schema: z.strictObject({
    type: z.literal('queuePaused'),
    ...eventFields,
    subject: queueKind.describe('the kind'),
    name: z.string().nullable().describe('null: all'),
    caller: caller.nullable().describe('null: all'),
  }),
  example: { type: 'queuePaused', seq: 17, at: AT, subject: 'task', name: 'resize', caller: null },
})
