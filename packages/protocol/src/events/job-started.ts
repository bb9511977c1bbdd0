import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, LEASE_ID, TASK_ID } from '../examples.ts'
import { leaseId, taskId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const jobStarted = defineEvent({
  name: 'jobStarted',
  summary: 'A lease was acked; its job is RUNNING.',
  schema: z.strictObject({ type: z.literal('jobStarted'), ...eventFields, jobId: taskId, leaseId }),
  example: { type: 'jobStarted', seq: 17, at: AT, jobId: TASK_ID, leaseId: LEASE_ID },
})
