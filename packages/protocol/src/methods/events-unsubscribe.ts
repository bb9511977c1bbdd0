import { z } from 'zod'
import { defineMethod } from '../method.ts'

export const eventsUnsubscribe = defineMethod({
  name: 'events.unsubscribe',
  summary: 'Ends a subscription of this socket.',
  roles: ['requester', 'provider', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({ subscription_id: z.string() }),
  result: z.strictObject({ removed: z.boolean() }),
  errors: ['InvalidState'],
  example: { params: { subscription_id: 's1' }, result: { removed: true } },
})
