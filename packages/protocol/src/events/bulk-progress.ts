import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { BULK_EXAMPLE, bulkFields } from './bulk-fields.ts'

export const bulkProgress = defineEvent({
  name: 'bulkProgress',
  summary: 'An operation on many jobs has come so far.',
  schema: z.strictObject({ type: z.literal('bulkProgress'), ...bulkFields }),
  example: { type: 'bulkProgress', ...BULK_EXAMPLE },
})
