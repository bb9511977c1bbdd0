import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, DIGEST } from '../examples.ts'
import { bytes32 } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const policyChanged = defineEvent({
  name: 'policyChanged',
  summary: 'A policy was set, by an operator or by the configuration at a start.',
  schema: z.strictObject({
    type: z.literal('policyChanged'),
    ...eventFields,
    subject: z.literal('policy'),
    preset: z.enum(['queue', 'fund']),
    digest: bytes32.describe('of the policy as it was written'),
  }),
  example: {
    type: 'policyChanged',
    seq: 17,
    at: AT,
    subject: 'policy',
    preset: 'queue',
    digest: DIGEST,
  },
})
