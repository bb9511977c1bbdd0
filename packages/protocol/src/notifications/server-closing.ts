import { z } from 'zod'
import { defineNotification } from '../event.ts'
import { count } from '../wire/leaves.ts'

export const serverClosing = defineNotification({
  name: 'server.closing',
  summary: 'The server shuts down: report what is done, and connect again a little later.',
  params: z.strictObject({ deadline_ms: count.describe('how long the socket stays open at most') }),
  example: { deadline_ms: 10_000 },
})
