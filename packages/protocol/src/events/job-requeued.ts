import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, TASK_ID } from '../examples.ts'
import { taskId, timeMs } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

const REQUEUE_REASONS = [
  'ACK_TIMEOUT',
  'LEASE_EXPIRED',
  'PROVIDER_FAIL',
  'PROOF_INVALID',
  'DECLINED',
  'RELEASED',
  'WORKER_LOST',
  'LEASE_CANCELLED',
] as const

export const jobRequeued = defineEvent({
  name: 'jobRequeued',
  summary: 'A job waits again: after a charge or a lost worker with backoff, or at once.',
  schema: z.strictObject({
    type: z.literal('jobRequeued'),
    ...eventFields,
    jobId: taskId,
    reason: z.enum(REQUEUE_REASONS),
    notBefore: timeMs.nullable(),
  }),
  example: {
    type: 'jobRequeued',
    seq: 17,
    at: AT,
    jobId: TASK_ID,
    reason: 'ACK_TIMEOUT',
    notBefore: AT + 5_000,
  },
})
