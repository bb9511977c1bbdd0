import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS } from '../examples.ts'
import { count, providerId, workerId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const workerConnected = defineEvent({
  name: 'workerConnected',
  summary: 'A worker of a provider connected.',
  schema: z.strictObject({
    type: z.literal('workerConnected'),
    ...eventFields,
    providerId,
    workerId,
    slots: count,
  }),
  example: {
    type: 'workerConnected',
    seq: 17,
    at: AT,
    providerId: ATLAS,
    workerId: 'w-1',
    slots: 4,
  },
})
