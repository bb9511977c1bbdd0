import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, LEASE_ID } from '../examples.ts'
import { CANCEL_REASONS } from '../records/lease.ts'
import { count, leaseId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const leaseCancelled = defineEvent({
  name: 'leaseCancelled',
  summary: 'A lease ended before its deadline, and not by completion.',
  schema: z.strictObject({
    type: z.literal('leaseCancelled'),
    ...eventFields,
    leaseId,
    reason: z.enum(CANCEL_REASONS),
    code: z.string().optional().describe('of a failure: what went wrong, in a word'),
    http: z.int().optional().describe('registrations: the status of that answer'),
    sentAfterMs: count
      .optional()
      .describe('registrations: how long after the ack the first call went out'),
  }),
  example: { type: 'leaseCancelled', seq: 17, at: AT, leaseId: LEASE_ID, reason: 'job_ended' },
})
