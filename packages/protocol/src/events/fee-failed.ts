import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, TASK_ID } from '../examples.ts'
import { taskId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const feeFailed = defineEvent({
  name: 'feeFailed',
  summary: 'A registration was booked, and its success fee was not taken. The booking stands.',
  schema: z.strictObject({ type: z.literal('feeFailed'), ...eventFields, jobId: taskId }),
  example: { type: 'feeFailed', seq: 17, at: AT, jobId: TASK_ID },
})
