import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS } from '../examples.ts'
import { providerId, timeMs, u64 } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const providerUnstaked = defineEvent({
  name: 'providerUnstaked',
  summary: 'A provider took stake out.',
  schema: z.strictObject({
    type: z.literal('providerUnstaked'),
    ...eventFields,
    providerId,
    amount: u64,
    stake: u64.describe('what is left'),
    maturesAt: timeMs,
  }),
  example: {
    type: 'providerUnstaked',
    seq: 17,
    at: AT,
    providerId: ATLAS,
    amount: 5_000,
    stake: 15_000,
    maturesAt: AT + 86_400_000,
  },
})
