import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, TASK_ID } from '../examples.ts'
import { taskId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const jobCanceled = defineEvent({
  name: 'jobCanceled',
  summary: 'A job was cancelled: by its requester, an operator, or with a job that it depends on.',
  schema: z.strictObject({
    type: z.literal('jobCanceled'),
    ...eventFields,
    jobId: taskId,
    reason: z.literal('dependency_failed').optional().describe('left out if somebody cancelled it'),
  }),
  example: { type: 'jobCanceled', seq: 17, at: AT, jobId: TASK_ID },
})
