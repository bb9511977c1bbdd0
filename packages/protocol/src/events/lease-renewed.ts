import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, LEASE_ID } from '../examples.ts'
import { leaseId, timeMs } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const leaseRenewed = defineEvent({
  name: 'leaseRenewed',
  summary: 'A lease was extended.',
  schema: z.strictObject({
    type: z.literal('leaseRenewed'),
    ...eventFields,
    leaseId,
    deadline: timeMs,
  }),
  example: { type: 'leaseRenewed', seq: 17, at: AT, leaseId: LEASE_ID, deadline: AT + 900_000 },
})
