import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, TASK_ID } from '../examples.ts'
import { taskId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const placeReleased = defineEvent({
  name: 'placeReleased',
  summary:
    'A registration whose outcome is unknown has given up its place: its user may sign up again.',
  schema: z.strictObject({ type: z.literal('placeReleased'), ...eventFields, jobId: taskId }),
  example: { type: 'placeReleased', seq: 17, at: AT, jobId: TASK_ID },
})
