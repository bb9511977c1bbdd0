import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, TASK_ID } from '../examples.ts'
import { taskId, timeMs } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const jobRescheduled = defineEvent({
  name: 'jobRescheduled',
  summary: 'The session of a registration in line opens at another time, and it moves with it.',
  schema: z.strictObject({
    type: z.literal('jobRescheduled'),
    ...eventFields,
    jobId: taskId,
    opensAt: timeMs,
  }),
  example: { type: 'jobRescheduled', seq: 17, at: AT, jobId: TASK_ID, opensAt: AT + 60_000 },
})
