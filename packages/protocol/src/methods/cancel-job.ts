import { z } from 'zod'
import { TASK_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { taskId } from '../wire/leaves.ts'

export const cancelJob = defineMethod({
  name: 'aicf.cancelJob',
  summary: 'Cancels a job that has not ended; a worker that has it is told to stop.',
  roles: ['requester', 'operator'],
  params: z.strictObject({ task_id: taskId }),
  result: z.strictObject({ task_id: taskId, status: z.literal('CANCELED') }),
  errors: ['NotFound', 'InvalidState'],
  example: { params: { task_id: TASK_ID }, result: { task_id: TASK_ID, status: 'CANCELED' } },
})
