import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT } from '../examples.ts'
import { eventFields } from './event-fields.ts'

export const limitDeleted = defineEvent({
  name: 'limitDeleted',
  summary: 'A limit was deleted.',
  schema: z.strictObject({
    type: z.literal('limitDeleted'),
    ...eventFields,
    subject: z.string().describe('its key'),
  }),
  example: { type: 'limitDeleted', seq: 17, at: AT, subject: 'global:llm:openai:gpt-5:rpm' },
})
