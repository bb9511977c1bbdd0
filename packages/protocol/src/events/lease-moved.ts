import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, LEASE_ID } from '../examples.ts'
import { leaseId, workerId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const leaseMoved = defineEvent({
  name: 'leaseMoved',
  summary: 'A lease that was not acked went to another worker of its provider.',
  schema: z.strictObject({ type: z.literal('leaseMoved'), ...eventFields, leaseId, workerId }),
  example: { type: 'leaseMoved', seq: 17, at: AT, leaseId: LEASE_ID, workerId: 'w-2' },
})
