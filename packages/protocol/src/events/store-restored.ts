import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT } from '../examples.ts'
import { count } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const storeRestored = defineEvent({
  name: 'storeRestored',
  summary: 'The store was made of a backup. Later commands of the store before it are not in it.',
  schema: z.strictObject({
    type: z.literal('storeRestored'),
    ...eventFields,
    subject: z.literal('store'),
    batch: count.describe('the last batch of commands that the backup has'),
  }),
  example: { type: 'storeRestored', seq: 21, at: AT, subject: 'store', batch: 4_711 },
})
