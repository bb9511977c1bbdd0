import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS } from '../examples.ts'
import { name, u64 } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const payoutRecorded = defineEvent({
  name: 'payoutRecorded',
  summary: 'Money was paid out of an account.',
  schema: z.strictObject({
    type: z.literal('payoutRecorded'),
    ...eventFields,
    subject: name.describe('the account'),
    account: name,
    amount: u64,
  }),
  example: {
    type: 'payoutRecorded',
    seq: 17,
    at: AT,
    subject: ATLAS,
    account: ATLAS,
    amount: 2_000,
  },
})
