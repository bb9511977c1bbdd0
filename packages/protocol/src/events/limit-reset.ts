import { z } from 'zod'
import { defineEvent } from '../event.ts'
import { AT } from '../examples.ts'
import { eventFields } from './event-fields.ts'

export const limitReset = defineEvent({
  name: 'limitReset',
  summary: 'All that was held of a limit was freed.',
  schema: z.strictObject({
    type: z.literal('limitReset'),
    ...eventFields,
    subject: z.string().describe('its key'),
  }),
  example: { type: 'limitReset', seq: 17, at: AT, subject: 'global:llm:openai:gpt-5:rpm' },
})
