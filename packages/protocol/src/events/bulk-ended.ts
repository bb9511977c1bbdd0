import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { BULK_EXAMPLE, bulkFields } from './bulk-fields.ts'

export const bulkEnded = defineEvent({
  name: 'bulkEnded',
  summary: 'An operation on many jobs has ended.',
  schema: z.strictObject({ type: z.literal('bulkEnded'), ...bulkFields }),
  example: { type: 'bulkEnded', ...BULK_EXAMPLE },
})
