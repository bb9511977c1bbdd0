import { z } from 'zod'
import { defineNotification } from '../event.ts'
import { event } from '../events/index.ts'
import { AT, TASK_ID } from '../examples.ts'

export const eventsNotify = defineNotification({
  name: 'events.notify',
  summary: 'Events of a subscription, in order.',
  params: z.strictObject({ subscription_id: z.string(), events: z.array(event) }),
  example: {
    subscription_id: 's1',
    events: [{ type: 'jobEnqueued', seq: 17, at: AT, jobId: TASK_ID }],
  },
})
