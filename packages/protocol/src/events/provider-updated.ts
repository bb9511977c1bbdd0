import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS } from '../examples.ts'
import { providerId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const providerUpdated = defineEvent({
  name: 'providerUpdated',
  summary: 'A provider said, or an operator said for it, what it offers from now on.',
  schema: z.strictObject({ type: z.literal('providerUpdated'), ...eventFields, providerId }),
  example: { type: 'providerUpdated', seq: 17, at: AT, providerId: ATLAS },
})
