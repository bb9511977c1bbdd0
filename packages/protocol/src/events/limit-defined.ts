import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT } from '../examples.ts'
import { eventFields } from './event-fields.ts'

export const limitDefined = defineEvent({
  name: 'limitDefined',
  summary: 'A limit was defined or changed.',
  schema: z.strictObject({
    type: z.literal('limitDefined'),
    ...eventFields,
    subject: z.string().describe('its key'),
  }),
  example: { type: 'limitDefined', seq: 17, at: AT, subject: 'global:llm:openai:gpt-5:rpm' },
})
