import { z } from 'zod'
import { defineNotification } from '../event.ts'
import { TASK_ID } from '../examples.ts'
import { taskId } from '../wire/leaves.ts'

export const eventsProgress = defineNotification({
  name: 'events.progress',
  summary: 'A live event of a subscription to `jobProgress`; it has no number and is not replayed.',
  params: z.strictObject({
    subscription_id: z.string(),
    jobId: taskId,
    percent: z.int().min(0).max(100),
  }),
  example: { subscription_id: 's1', jobId: TASK_ID, percent: 40 },
})
