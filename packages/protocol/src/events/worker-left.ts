import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS } from '../examples.ts'
import { providerId, workerId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const workerLeft = defineEvent({
  name: 'workerLeft',
  summary: 'A worker of a provider left, or its connection was lost.',
  schema: z.strictObject({ type: z.literal('workerLeft'), ...eventFields, providerId, workerId }),
  example: { type: 'workerLeft', seq: 17, at: AT, providerId: ATLAS, workerId: 'w-1' },
})
