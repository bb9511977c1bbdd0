import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, TASK_ID } from '../examples.ts'
import { endReason } from '../records/job.ts'
import { taskId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const jobExpired = defineEvent({
  name: 'jobExpired',
  summary: 'A job is EXPIRED: its time ran out.',
  schema: z.strictObject({
    type: z.literal('jobExpired'),
    ...eventFields,
    jobId: taskId,
    reason: endReason,
  }),
  example: { type: 'jobExpired', seq: 17, at: AT, jobId: TASK_ID, reason: 'ttl_abs' },
})
