import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, ATLAS, SEED } from '../examples.ts'
import { bytes32, providerId } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const keyChanged = defineEvent({
  name: 'keyChanged',
  summary: 'An operator gave a provider another public key.',
  schema: z.strictObject({
    type: z.literal('keyChanged'),
    ...eventFields,
    providerId,
    publicKey: bytes32.nullable(),
  }),
  example: { type: 'keyChanged', seq: 17, at: AT, providerId: ATLAS, publicKey: SEED },
})
