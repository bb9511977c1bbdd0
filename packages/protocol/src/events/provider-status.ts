import { PROVIDER_STATUSES } from '@fairlead/core'
import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS } from '../examples.ts'
import { providerId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const providerStatus = defineEvent({
  name: 'providerStatus',
  summary: 'The status of a provider changed.',
  schema: z.strictObject({
    type: z.literal('providerStatus'),
    ...eventFields,
    providerId,
    status: z.enum(PROVIDER_STATUSES),
  }),
  example: { type: 'providerStatus', seq: 17, at: AT, providerId: ATLAS, status: 'SUSPENDED' },
})
