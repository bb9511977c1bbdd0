import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT, CALLER } from '../examples.ts'
import { timeMs } from '../wire/leaves.ts'
import { eventFields } from './event-fields.ts'

export const tokenChanged = defineEvent({
  name: 'tokenChanged',
  summary: 'A token was created, changed, revoked or removed.',
  schema: z.strictObject({
    type: z.literal('tokenChanged'),
    ...eventFields,
    subject: z.string().describe('`token:` and its id'),
    change: z.enum(['created', 'changed', 'revoked', 'removed']),
    role: z.string().optional().describe('left out of one that was removed, as the rest is'),
    holder: z.string().optional().describe('the provider, else the caller of its jobs'),
    scope: z.string().optional().describe('what it is held to; empty: nothing'),
    expiresAt: timeMs.nullable().optional().describe('null: never'),
  }),
  example: {
    type: 'tokenChanged',
    seq: 17,
    at: AT,
    subject: 'token:3f9a0c11d2e4',
    change: 'created',
    role: 'requester',
    holder: CALLER,
    scope: 'kinds task',
    expiresAt: null,
  },
})
