import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS, LEASE_ID, TASK_ID } from '../examples.ts'
import { count, leaseId, providerId, taskId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const proofAccepted = defineEvent({
  name: 'proofAccepted',
  summary: 'The proof of a completed lease was accepted; its job has a claim.',
  schema: z.strictObject({
    type: z.literal('proofAccepted'),
    ...eventFields,
    jobId: taskId,
    leaseId,
    providerId,
    blockHeight: count,
  }),
  example: {
    type: 'proofAccepted',
    seq: 17,
    at: AT,
    jobId: TASK_ID,
    leaseId: LEASE_ID,
    providerId: ATLAS,
    blockHeight: 1_713_200_125,
  },
})
