import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS } from '../examples.ts'
import { providerId, u64 } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const providerSlashed = defineEvent({
  name: 'providerSlashed',
  summary: 'The close of an epoch slashed a provider.',
  schema: z.strictObject({
    type: z.literal('providerSlashed'),
    ...eventFields,
    providerId,
    reason: z.string().describe('the violation that decided'),
    penalty: u64.describe('taken from its payouts and its stake'),
  }),
  example: {
    type: 'providerSlashed',
    seq: 17,
    at: AT,
    providerId: ATLAS,
    reason: 'traps',
    penalty: 50_000,
  },
})
