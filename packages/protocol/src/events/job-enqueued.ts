import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, TASK_ID } from '../examples.ts'
import { bytes32, taskId, timeMs } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const jobEnqueued = defineEvent({
  name: 'jobEnqueued',
  summary: 'A job was accepted and is durable.',
  schema: z.strictObject({
    type: z.literal('jobEnqueued'),
    ...eventFields,
    jobId: taskId,
    retryOf: taskId.optional(),
    schedule: z.string().optional().describe('the schedule that enqueued it'),
    scheduledAt: timeMs.optional().describe('the time for which it did'),
    traceparent: z.string().optional(),
    txHash: bytes32.optional().describe('of a job from a chain: its transaction'),
  }),
  example: { type: 'jobEnqueued', seq: 17, at: AT, jobId: TASK_ID },
})
