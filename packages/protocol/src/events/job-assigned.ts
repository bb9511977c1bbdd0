import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS, LEASE_ID, TASK_ID } from '../examples.ts'
import { count, leaseId, providerId, taskId, timeMs } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const jobAssigned = defineEvent({
  name: 'jobAssigned',
  summary: 'A round gave a job to a provider.',
  schema: z.strictObject({
    type: z.literal('jobAssigned'),
    ...eventFields,
    jobId: taskId,
    providerId,
    leaseId,
    deadline: timeMs,
    rank: count.optional().describe('registrations: its place in its session, from 0'),
    task: z.enum(['book', 'lookup']).optional().describe('registrations: what is to be done'),
  }),
  example: {
    type: 'jobAssigned',
    seq: 17,
    at: AT,
    jobId: TASK_ID,
    providerId: ATLAS,
    leaseId: LEASE_ID,
    deadline: AT + 600_000,
  },
})
