import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, TASK_ID, TX_HASH } from '../examples.ts'
import { taskId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const jobNoted = defineEvent({
  name: 'jobNoted',
  summary: 'Something came with a job that is no part of its work.',
  schema: z.strictObject({
    type: z.literal('jobNoted'),
    ...eventFields,
    jobId: taskId,
    retryOf: taskId.optional(),
    traceparent: z.string().optional(),
  }),
  example: { type: 'jobNoted', seq: 17, at: AT, jobId: TASK_ID, retryOf: TX_HASH },
})
