import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, TASK_ID } from '../examples.ts'
import { endReason } from '../records/job.ts'
import { taskId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const jobFailed = defineEvent({
  name: 'jobFailed',
  summary: 'A job is FAILED: retries used up, a permanent error, or declined by all.',
  schema: z.strictObject({
    type: z.literal('jobFailed'),
    ...eventFields,
    jobId: taskId,
    reason: endReason,
  }),
  example: { type: 'jobFailed', seq: 17, at: AT, jobId: TASK_ID, reason: 'retries_exhausted' },
})
