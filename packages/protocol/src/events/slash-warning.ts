import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS } from '../examples.ts'
import { providerId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const slashWarning = defineEvent({
  name: 'slashWarning',
  summary: 'The service of a provider was below its bounds in an epoch, and cost nothing.',
  schema: z.strictObject({
    type: z.literal('slashWarning'),
    ...eventFields,
    providerId,
    violations: z.array(z.string()).describe('kind, dimension and severity of each'),
  }),
  example: {
    type: 'slashWarning',
    seq: 17,
    at: AT,
    providerId: ATLAS,
    violations: ['ai latency minor'],
  },
})
