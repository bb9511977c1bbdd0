import { z } from 'zod'
import { SCHEDULE, TASK_ID } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { scheduleId, scheduleOwner } from '../records/schedule.ts'
import { taskId } from '../wire/leaves.ts'

export const schedulesTrigger = defineMethod({
  name: 'schedules.trigger',
  summary: 'Enqueues the job of a schedule now, paused or not.',
  description:
    'Its times stay as they are. `InvalidState` while its last job is live and its overlap is `skip`.',
  roles: ['requester', 'operator'],
  access: 'write',
  params: z.strictObject({
    id: scheduleId,
    caller: scheduleOwner,
    idempotency_key: z.string().optional().describe('the same again gives the same job'),
  }),
  result: z.strictObject({ task_id: taskId }),
  errors: ['NotFound', 'InvalidState', 'QueueOverCapacity', 'IdempotencyConflict', 'LimitExceeded'],
  example: { params: { id: SCHEDULE.id }, result: { task_id: TASK_ID } },
})
