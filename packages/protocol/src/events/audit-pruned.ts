import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, DIGEST } from '../examples.ts'
import { bytes32, count } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const auditPruned = defineEvent({
  name: 'auditPruned',
  summary: 'Old entries of the audit log, which are old events as well, were deleted.',
  schema: z.strictObject({
    type: z.literal('auditPruned'),
    ...eventFields,
    subject: z.literal('audit'),
    last: count.describe('number of the last one'),
    hash: bytes32.describe('of the last one'),
  }),
  example: { type: 'auditPruned', seq: 17, at: AT, subject: 'audit', last: 16, hash: DIGEST },
})
