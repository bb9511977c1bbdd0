import { z } from 'zod'
import { PAUSE_RECORD } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { pauseRecord, queueRecord } from '../records/queue.ts'

export const queuesList = defineMethod({
  name: 'queues.list',
  summary: 'Waiting and running jobs by kind and name, and all pauses.',
  description: 'A requester sees its own jobs, and the pauses that can hold them.',
  roles: ['requester', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({}),
  result: z.strictObject({
    queues: z.array(queueRecord).describe('at most 1,000, in order of kind and name'),
    pauses: z.array(pauseRecord),
  }),
  errors: [],
  example: {
    params: {},
    result: {
      queues: [
        {
          ...{ kind: 'task', name: 'resize', ready: 12, held: 12, waiting: 14, running: 2 },
          oldest_wait_ms: 1_250,
          per_second: { enqueued: 1.5, completed: 1.4, failed: 0 },
        },
      ],
      pauses: [PAUSE_RECORD],
    },
  },
})
