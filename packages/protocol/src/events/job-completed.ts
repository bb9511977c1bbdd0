import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS, DIGEST, LEASE_ID, TASK_ID } from '../examples.ts'
import { bytes32, leaseId, providerId, taskId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const jobCompleted = defineEvent({
  name: 'jobCompleted',
  summary: 'A job is COMPLETED and has a result.',
  schema: z.strictObject({
    type: z.literal('jobCompleted'),
    ...eventFields,
    jobId: taskId,
    providerId,
    leaseId,
    digest: bytes32,
  }),
  example: {
    type: 'jobCompleted',
    seq: 17,
    at: AT,
    jobId: TASK_ID,
    providerId: ATLAS,
    leaseId: LEASE_ID,
    digest: DIGEST,
  },
})
