import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, LEASE_ID } from '../examples.ts'
import { leaseId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const limitExcess = defineEvent({
  name: 'limitExcess',
  summary: 'A completion said that it took more of a limit than counts; the rest was not booked.',
  schema: z.strictObject({
    type: z.literal('limitExcess'),
    ...eventFields,
    leaseId,
    key: z.string().describe('of the limit'),
    amount: z.int().min(1).describe('what was not booked'),
  }),
  example: {
    type: 'limitExcess',
    seq: 17,
    at: AT,
    leaseId: LEASE_ID,
    key: 'tokens',
    amount: 1_000,
  },
})
