import { z } from 'zod'
import { defineMethod } from '../method.ts'
import { pauseKey } from '../records/queue.ts'

export const queuesResume = defineMethod({
  name: 'queues.resume',
  summary: 'Ends a pause, named as it was made.',
  description: 'A job goes once no pause holds it any more. A requester resumes its own jobs only.',
  roles: ['requester', 'operator'],
  access: 'write',
  params: z.strictObject(pauseKey),
  result: z.strictObject({ resumed: z.boolean().describe('false: this was not paused') }),
  errors: [],
  example: { params: { kind: 'task', name: 'resize' }, result: { resumed: true } },
})
