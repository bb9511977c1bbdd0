import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS } from '../examples.ts'
import { providerId, u64 } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const providerStaked = defineEvent({
  name: 'providerStaked',
  summary: 'The stake of a provider was added to.',
  schema: z.strictObject({
    type: z.literal('providerStaked'),
    ...eventFields,
    providerId,
    amount: u64.describe('what was added'),
    stake: u64.describe('what it is now'),
  }),
  example: {
    type: 'providerStaked',
    seq: 17,
    at: AT,
    providerId: ATLAS,
    amount: 500,
    stake: 10_500,
  },
})
