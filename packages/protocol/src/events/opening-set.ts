import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT } from '../examples.ts'
import { timeMs } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const openingSet = defineEvent({
  name: 'openingSet',
  summary: 'An operator has said when a session opens.',
  schema: z.strictObject({
    type: z.literal('openingSet'),
    ...eventFields,
    subject: z.literal('session'),
    platform: z.string(),
    orgRef: z.string(),
    eventId: z.string(),
    opensAt: timeMs,
  }),
  example: {
    type: 'openingSet',
    seq: 17,
    at: AT,
    subject: 'session',
    platform: 'bookeo',
    orgRef: 'org-1',
    eventId: 'swim-tue-9',
    opensAt: AT + 60_000,
  },
})
