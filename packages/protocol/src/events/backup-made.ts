import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT } from '../examples.ts'
import { count } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const backupMade = defineEvent({
  name: 'backupMade',
  summary: 'A backup of the store was made while the server ran.',
  schema: z.strictObject({
    type: z.literal('backupMade'),
    ...eventFields,
    subject: z.literal('store'),
    path: z.string().describe('on the machine of the server'),
    batch: count.describe('the last batch of commands that it has'),
    bytes: count,
  }),
  example: {
    type: 'backupMade',
    seq: 20,
    at: AT,
    subject: 'store',
    path: '/var/backups/fairlead-2026-11-19.db',
    batch: 4_711,
    bytes: 1_048_576,
  },
})
