import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, TASK_ID } from '../examples.ts'
import { taskId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const jobCancelNoted = defineEvent({
  name: 'jobCancelNoted',
  summary: 'A registration that may have been sent is to be cancelled when its outcome is known.',
  schema: z.strictObject({ type: z.literal('jobCancelNoted'), ...eventFields, jobId: taskId }),
  example: { type: 'jobCancelNoted', seq: 17, at: AT, jobId: TASK_ID },
})
