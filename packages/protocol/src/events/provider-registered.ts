import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS } from '../examples.ts'
import { providerId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const providerRegistered = defineEvent({
  name: 'providerRegistered',
  summary: 'A provider was registered.',
  schema: z.strictObject({ type: z.literal('providerRegistered'), ...eventFields, providerId }),
  example: { type: 'providerRegistered', seq: 17, at: AT, providerId: ATLAS },
})
