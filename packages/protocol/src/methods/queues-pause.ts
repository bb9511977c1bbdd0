import { z } from 'zod'
import { PAUSE_RECORD } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { pauseKey, pauseRecord } from '../records/queue.ts'

export const queuesPause = defineMethod({
  name: 'queues.pause',
  summary: 'Holds back the jobs of a kind, of one name or all, of one caller or all.',
  description:
    'They stay queued and can be enqueued and cancelled as before. Leases in hand go on, and times to live run on. A pause that is there already stays as it is. A requester pauses its own jobs only.',
  roles: ['requester', 'operator'],
  access: 'write',
  params: z.strictObject(pauseKey),
  result: z.strictObject({ pause: pauseRecord }),
  errors: ['LimitExceeded'],
  example: { params: { kind: 'task', name: 'resize' }, result: { pause: PAUSE_RECORD } },
})
