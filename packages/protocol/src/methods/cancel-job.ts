import { JOB_STATUSES } from '@fairlead/core'
import { z } from 'zod'
import { TASK_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { taskId } from '../wire/leaves.ts'

export const cancelJob = defineMethod({
  name: 'aicf.cancelJob',
  summary: 'Cancels a job that has not ended; a worker that has it is told to stop.',
  description:
    'A registration whose attempt is under way may have been booked: then the cancel is noted, applied when the outcome is known, and answered with the status until then.',
  roles: ['requester', 'operator'],
  access: 'write',
  params: z.strictObject({ task_id: taskId }),
  result: z.strictObject({ task_id: taskId, status: z.enum(JOB_STATUSES) }),
  errors: ['NotFound', 'InvalidState'],
  example: { params: { task_id: TASK_ID }, result: { task_id: TASK_ID, status: 'CANCELED' } },
})
