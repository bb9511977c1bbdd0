import { z } from 'zod'
import { LIVE_TOPICS, TOPICS } from '../events/topics.ts'
import { defineMethod } from '../method.ts'
import { count } from '../wire/leaves.ts'
import { list } from '../wire/list.ts'

export const eventsSubscribe = defineMethod({
  name: 'events.subscribe',
  summary: 'Tells of events from now on, or of all after a number; on a WebSocket only.',
  description:
    'Events come as `events.notify`, in order, without a gap or a repeat. After a lost connection subscribe again with `after_seq` = the last `seq` that was seen. A requester hears of its own jobs, a provider of its own leases and of itself. A reader that is too slow is cut off (close code 4008).',
  roles: ['requester', 'provider', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({
    topics: list(z.enum([...TOPICS, ...LIVE_TOPICS]), TOPICS.length + LIVE_TOPICS.length)
      .min(1)
      .optional()
      .describe('all but jobProgress if left out; that comes live, as events.progress'),
    after_seq: count.optional(),
  }),
  result: z.strictObject({
    subscription_id: z.string(),
    seq: count.describe('events after this number will come'),
  }),
  errors: ['InvalidState', 'LimitExceeded', 'EventsPruned'],
  example: {
    params: { topics: ['jobCompleted', 'jobFailed'], after_seq: 16 },
    result: { subscription_id: 's1', seq: 16 },
  },
})
