import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, LEASE_ID, TASK_ID } from '../examples.ts'
import { leaseId, taskId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const proofDropped = defineEvent({
  name: 'proofDropped',
  summary: 'A reorganisation of the chain dropped a claim; the job awaits its proof again.',
  schema: z.strictObject({
    type: z.literal('proofDropped'),
    ...eventFields,
    jobId: taskId,
    leaseId,
  }),
  example: {
    type: 'proofDropped',
    seq: 17,
    at: AT,
    jobId: TASK_ID,
    leaseId: LEASE_ID,
  },
})
